"""Bugs on purpose, for a server process: the checker must find each of them, or it is worth nothing.

Each is applied to a running server by its name. What the product does is replaced where it decides, so that everything
around it stays as it is.
"""

import itertools
import time
from collections.abc import Callable
from typing import Any

from commonplace import call, events, idempotency
from commonplace.edges import project_events
from commonplace.rooms.locks import granting as fence
from commonplace.rooms.locks import model as lease
from commonplace.rooms.locks import operations, store
from commonplace.rooms.sessions import operations as session_operations
from commonplace.rooms.work import operations as work_operations
from commonplace.store import lease_clock, postgres, postgres_tx, sqlite

_changed: list[tuple[Any, str, Any]] = []


def apply(name: str) -> None:
    MUTANTS[name]()


def undo() -> None:
    while _changed:
        owner, name, value = _changed.pop()
        setattr(owner, name, value)


def _change(owner: Any, name: str, value: Any) -> None:
    _changed.append((owner, name, getattr(owner, name)))
    setattr(owner, name, value)


def _acknowledge_before_commit() -> None:
    def in_one_commit(jobs: Any, tx: sqlite.SqliteTx) -> Any:
        tx.execute("begin immediate")
        outcomes = [sqlite._in_savepoint(job, tx) for job in jobs]
        sqlite._settle_jobs(outcomes)
        time.sleep(0.05)
        tx.execute("commit")
        return outcomes

    _change(sqlite, "_in_one_commit", in_one_commit)


def _lose_a_write_of_a_batch() -> None:
    """Roll back one caller of eight, and acknowledge it."""
    turn = itertools.count()

    def in_one_commit(jobs: Any, tx: sqlite.SqliteTx) -> Any:
        tx.execute("begin immediate")
        outcomes = [_acknowledge_lost(job, tx) if next(turn) % 8 == 7 else _settle(job, tx) for job in jobs]
        tx.execute("commit")
        return outcomes

    def _settle(job: Any, tx: sqlite.SqliteTx) -> Any:
        return sqlite._in_savepoint(job, tx)

    def _acknowledge_lost(job: Any, tx: sqlite.SqliteTx) -> Any:
        tx.execute("savepoint lost")
        outcome = sqlite._in_savepoint(job, tx)
        tx.execute("rollback to lost")
        tx.execute("release lost")
        return outcome

    _change(sqlite, "_in_one_commit", in_one_commit)


def _ignore_idempotency_keys() -> None:
    take = idempotency.take_request_key

    def take_no_key(*arguments: Any) -> Any:
        return take(*arguments)[0], None

    _change(idempotency, "take_request_key", take_no_key)


def _reuse_fencing_tokens() -> None:
    _change(fence, "fencing_token", lambda epoch, counter: epoch << 40 | counter // 4)


def _lower_fencing_tokens() -> None:
    _change(fence, "fencing_token", lambda epoch, counter: (epoch << 40) + (1 << 39) - counter)


def _skip_an_event_number() -> None:
    append, turn = events.append_events, itertools.count()

    async def append_after_a_gap(tx: Any, emitted: Any) -> None:
        if next(turn) % 20 == 19:
            await events.add_to_counter(tx, emitted[0].project, "event", 1)
        await append(tx, emitted)

    _change(events, "append_events", append_after_a_gap)


def _drop_an_event() -> None:
    append, turn = events.append_events, itertools.count()

    async def append_most(tx: Any, emitted: Any) -> None:
        if next(turn) % 20 != 19:
            await append(tx, emitted)

    _change(events, "append_events", append_most)


def _emit_an_event_twice() -> None:
    append, turn = events.append_events, itertools.count()

    async def append_twice(tx: Any, emitted: Any) -> None:
        await append(tx, emitted * 2 if next(turn) % 20 == 19 else emitted)

    _change(events, "append_events", append_twice)


def _grant_what_others_hold() -> None:
    """As if every lock had lapsed. Whether it did is asked a second time, under its row lock."""

    async def take_all(*_arguments: Any) -> bool:
        return True

    _change(lease.Lease, "blocks_others", lambda *_: False)
    _change(store, "lock_lapsed_leases", take_all)


def _release_locks_of_others() -> None:
    async def delete_by_path(tx: Any, project: str, released: Any) -> None:
        await tx.queue(
            "delete from lease where project = $1 and path = any($2)",
            project,
            [each.path for each in released],
        )

    _change(store, "delete_leases", delete_by_path)


def _ignore_stale_tokens() -> None:
    async def require_nothing(*_arguments: Any) -> None:
        pass

    for module in (fence, work_operations, session_operations):
        _change(module, "require_current_tokens", require_nothing)


def _end_leases_early() -> None:
    build = fence._build_lease

    def build_short(*arguments: Any) -> Any:
        *most, granted_at, expires_at = arguments
        return build(*most, granted_at, expires_at - (expires_at - granted_at) * 3 // 4)

    _change(fence, "_build_lease", build_short)


def _follow_clock_jumps() -> None:
    _change(lease_clock._Reading, "find_jump", lambda *_: 0)


def _skip_an_audit_row() -> None:
    insert, turn = events.insert_audit_row, itertools.count()

    async def insert_most(*arguments: Any) -> None:
        if next(turn) % 10 != 9:
            await insert(*arguments)

    _change(events, "insert_audit_row", insert_most)


def _resume_streams_too_late() -> None:
    find = project_events.ProjectEvents._find_start

    async def find_later(self: Any, request: Any, project: str) -> int:
        start = await find(self, request, project)
        return start + 1 if start else start

    _change(project_events.ProjectEvents, "_find_start", find_later)


def _answer_internal_errors() -> None:
    _change(sqlite, "sqlite_refusal", lambda *_: None)
    _change(postgres, "postgres_refusal", lambda *_: None)


def _sync_nothing() -> None:
    """For a server that starts: what it acknowledged may be lost with the power."""
    pragmas = tuple(pragma.replace("synchronous=full", "synchronous=off") for pragma in sqlite._PRAGMAS)
    _change(sqlite, "_PRAGMAS", pragmas)


def _sync_sometimes() -> None:
    pragmas = tuple(pragma.replace("synchronous=full", "synchronous=normal") for pragma in sqlite._PRAGMAS)
    _change(sqlite, "_PRAGMAS", pragmas)


def _grant_without_a_lock() -> None:
    """On PostgreSQL: decide about locks without the row that serializes the replicas."""

    async def count_without_lock(tx: Any, project: str, name: str, step: int = 1) -> int:
        if tx.kind == "sqlite":
            return await _advance(tx, project, name, step)
        return time.time_ns() // 1000 % (1 << 39)

    _advance = operations.advance_counter
    _change(operations, "advance_counter", count_without_lock)


def _answer_before_commit_on_postgres() -> None:
    commit = postgres_tx.PostgresTx.commit

    async def forget_some(self: Any) -> None:
        if self._queued and next(turn) % 10 == 9:
            if self._is_begun:
                await self._connection.execute("rollback")
            return
        await commit(self)

    turn = itertools.count()
    _change(postgres_tx.PostgresTx, "commit", forget_some)


def _commit_without_waiting_for_the_log() -> None:
    begin = postgres.PostgresTimeouts.format_begin

    def begin_lazily(self: Any, *arguments: Any) -> str:
        return begin(self, *arguments) + "; set local synchronous_commit = off"

    _change(postgres.PostgresTimeouts, "format_begin", begin_lazily)


def _answer_a_repeated_call_anew() -> None:
    """The key is claimed, but the answer is not found: a repeated call runs again."""

    async def claim_always(*_arguments: Any) -> None:
        return None

    async def store_nothing(*_arguments: Any) -> None:
        return None

    _change(call.idempotency.RequestKey, "claim", claim_always)
    _change(call.idempotency.RequestKey, "store_answer", store_nothing)


MUTANTS: dict[str, Callable[[], None]] = {
    "acknowledge before commit": _acknowledge_before_commit,
    "lose a write of a batch": _lose_a_write_of_a_batch,
    "ignore idempotency keys": _ignore_idempotency_keys,
    "answer a repeated call anew": _answer_a_repeated_call_anew,
    "reuse fencing tokens": _reuse_fencing_tokens,
    "lower fencing tokens": _lower_fencing_tokens,
    "skip an event number": _skip_an_event_number,
    "drop an event": _drop_an_event,
    "emit an event twice": _emit_an_event_twice,
    "grant what others hold": _grant_what_others_hold,
    "release locks of others": _release_locks_of_others,
    "ignore stale tokens": _ignore_stale_tokens,
    "end leases early": _end_leases_early,
    "follow clock jumps": _follow_clock_jumps,
    "skip an audit row": _skip_an_audit_row,
    "resume streams too late": _resume_streams_too_late,
    "answer internal errors": _answer_internal_errors,
    "sync nothing": _sync_nothing,
    "sync sometimes": _sync_sometimes,
    "grant without a lock": _grant_without_a_lock,
    "forget a commit on PostgreSQL": _answer_before_commit_on_postgres,
    "commit without waiting for the log": _commit_without_waiting_for_the_log,
}
