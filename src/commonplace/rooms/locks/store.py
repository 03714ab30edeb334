"""SQL of the `lease` table, the time of leases and the epoch of fencing tokens.

A grant locks the project's `lease` counter until commit, so grants are serialized on every replica. Renewals and
releases do not wait for it: they change only rows that still exist.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from commonplace import activity
from commonplace.clock import SECOND
from commonplace.file_region import shorten_path
from commonplace.identity import session as agent_session
from commonplace.notices import Notice, notify_sessions
from commonplace.project import list_all_project_names
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.model import TAKEOVER_DELAY, Lease, LockRequest
from commonplace.store.database import Database, Row, Statement, Tx
from commonplace.store.lease_clock import JUMP_MICROSECONDS, LeaseClock, store_clock_shift

_log = logging.getLogger(__name__)

FIRST_EPOCH = 1
"""Of fencing tokens: their upper bits, so that no token is ever given twice."""
WATCH_SECONDS: Final = 5.0
_MAX_UNSEEN_MICROSECONDS: Final = 30 * SECOND
"""Another replica writes down the time every few seconds, so a server that starts may find it this old."""
_BOOT_ID_FILE: Final = Path("/proc/sys/kernel/random/boot_id")
_SELECT_LEASES = (
    "select lease.path, lease.prefix, lease.session, lease.agent, lease.mode, lease.token, lease.reason, lease.ttl,"
    " lease.granted_at, lease.expires_at, session.active_at, coalesce(api_key.revoked_at, session.ended_at) as ended_at"
    " from lease left join session on session.project = $1 and session.id = lease.session"
    " left join api_key on api_key.id = session.key_id"
    " where lease.project = $1"
)
LEASES_OF_SESSION = (
    "select count(*) as held, min(expires_at) as first from lease where project = $1 and session = $2"
    " having count(*) > 0"
)
LEASES_OF_SESSION_COLUMNS = (
    "(select count(*) from lease where lease.project = $1 and lease.session = $2) as held,"
    " (select min(expires_at) from lease where lease.project = $1 and lease.session = $2) as first_expiry"
)
"""The same beside the row of the session."""
LOCKS_IN_USE = (
    "(select ignore_case from project where name = $1) as ignore_case,"
    " exists (select 1 from lease where project = $1 and session = $2) as has_own,"
    " exists (select 1 from lease where project = $1 and session <> $2) as has_others,"
    " exists (select 1 from lock_waiter where project = $1) as has_waiters"
)
"""What a list of locks must read at all: most projects have no locks, nobody who waits for one, or no claimed items."""
_HELD_BY_OTHERS = "lease.session <> $2 and lease.expires_at > $3 and session.ended_at is null and api_key.revoked_at is null"

_SELECT_LEASES_OF_OTHERS = f"{_SELECT_LEASES} and {_HELD_BY_OTHERS} order by lease.token desc limit $4"


@dataclass(frozen=True, slots=True)
class LockScope:
    """The project's lock settings, how many leases this session holds, and whether anybody waits for a lock."""

    epoch: int
    fold: bool
    held_count: int
    has_waiters: bool


async def load_lock_scope(tx: Tx, project: str, session: str) -> LockScope:
    row = await tx.one(
        "select (select value from setting where name = 'epoch') as epoch,"
        " (select ignore_case from project where name = $1) as ignore_case,"
        " (select count(*) from lease where project = $1 and session = $2) as held,"
        " exists (select 1 from lock_waiter where project = $1) as has_waiters",
        project,
        session,
    )
    if row is None:
        return LockScope(FIRST_EPOCH, False, 0, False)
    return LockScope(
        int(row["epoch"] or FIRST_EPOCH), bool(row["ignore_case"]), row["held"], bool(row["has_waiters"])
    )


async def project_ignores_case(tx: Tx, project: str) -> bool:
    row = await tx.one("select ignore_case from project where name = $1", project)
    return bool(row and row["ignore_case"])


async def list_candidate_leases(
    tx: Tx, project: str, requests: Sequence[LockRequest], fold: bool
) -> list[Lease]:
    """List every lease that may overlap one of these; the caller compares exactly."""
    request_prefixes = [request.prefix for request in requests]
    conditions = paths.prefix_conditions("lease.prefix", 2, request_prefixes, request_prefixes)
    asked: list[Statement] = [
        (f"{_SELECT_LEASES} and {where}", project, *values)  # type: ignore[misc]  # mypy joins the unpacked types
        for where, values in conditions
    ]
    found = await tx.together(*asked)
    row_by_token = {row["token"]: row for rows in found for row in rows}
    return [Lease.from_row(row, fold) for row in row_by_token.values()]


async def list_leases_of_session(tx: Tx, project: str, session: str, fold: bool) -> list[Lease]:
    """List the leases of a session that the caller knows to be alive."""
    rows = await tx.all(
        "select path, prefix, session, agent, mode, token, reason, ttl, granted_at, expires_at,"
        " granted_at as active_at, null as ended_at from lease where project = $1 and session = $2 order by path",
        project,
        session,
    )
    return [Lease.from_row(row, fold) for row in rows]


async def list_leases_of_sessions(tx: Tx, project: str, sessions: Sequence[str], fold: bool) -> list[Lease]:
    rows = await tx.all(
        f"{_SELECT_LEASES} and lease.session = any($2) order by lease.path, lease.token",
        project,
        list(sessions),
    )
    return [Lease.from_row(row, fold) for row in rows]


async def list_leases_of_others(
    tx: Tx, project: str, session: str, fold: bool, now: int, limit: int
) -> list[Lease]:
    """List the leases that other live sessions hold, newest first."""
    rows = await tx.all(
        _SELECT_LEASES_OF_OTHERS,
        project,
        session,
        now - TAKEOVER_DELAY,
        limit,
    )
    return [Lease.from_row(row, fold) for row in rows]


async def count_leases_of_others(tx: Tx, project: str, session: str, now: int) -> int:
    row = await tx.one(
        "select count(*) as n from lease join session on session.project = $1 and session.id = lease.session"
        f" left join api_key on api_key.id = session.key_id where lease.project = $1 and {_HELD_BY_OTHERS}",
        project,
        session,
        now - TAKEOVER_DELAY,
    )
    return row["n"] if row else 0


async def lock_lapsed_leases(tx: Tx, project: str, leases: Iterable[Lease], now: int) -> bool:
    """Row-lock these lapsed leases; return False if one was renewed meanwhile."""
    lapsed = [lease for lease in leases if not lease.session_ended]
    if not lapsed:
        return True
    held = await tx.run(
        "update lease set reason = reason"
        " where project = $1 and path = any($2) and token = any($3) and expires_at <= $4",
        project,
        [lease.path for lease in lapsed],
        [lease.token for lease in lapsed],
        now - TAKEOVER_DELAY,
    )
    return held == len(lapsed)


async def load_current_tasks(tx: Tx, project: str, agents: Iterable[str]) -> dict[str, str]:
    rows = await tx.all(
        "select name, current_task from agent where project = $1 and name = any($2) and current_task <> ''",
        *(project, sorted(agents)),
    )
    return {row["name"]: row["current_task"] for row in rows}


async def delete_leases(tx: Tx, project: str, leases: Sequence[Lease]) -> None:
    await tx.queue(
        "delete from lease where project = $1 and path = any($2) and token = any($3)",
        project,
        [lease.path for lease in leases],
        [lease.token for lease in leases],
    )


async def upsert_leases(tx: Tx, project: str, leases: Sequence[Lease]) -> None:
    await tx.many(
        "insert into lease (project, path, session, prefix, mode, agent, token, reason, ttl, granted_at, expires_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
        " on conflict (project, path, session) do update set mode = excluded.mode, token = excluded.token,"
        " reason = excluded.reason, ttl = excluded.ttl, granted_at = excluded.granted_at,"
        " expires_at = excluded.expires_at",
        [
            (
                project,
                lease.path,
                lease.session,
                lease.prefix,
                lease.mode,
                lease.agent,
                lease.token,
                lease.reason,
                lease.ttl,
                lease.granted_at,
                lease.expires_at,
            )
            for lease in leases
        ],
    )


async def renew_leases(tx: Tx, session: agent_session.AgentSession, held: Row, now: int) -> int:
    """Renew the session's leases for their full time, except those past the takeover delay; return how many.

    `held` has LEASES_OF_SESSION_COLUMNS. If a lease is taken over or released before commit, the call runs again.
    """
    count = held["held"]
    if not count:
        return 0
    alive = now - TAKEOVER_DELAY
    if held["first_expiry"] <= alive:
        count = await _count_leases_after(tx, session, alive)
    await _extend_leases(tx, session, now)
    await tx.expect_no_row(
        "select held from (select count(*) as held from lease where project = $1 and session = $2 and expires_at > $3)"
        " as kept where held <> $4",
        session.project,
        session.id,
        alive,
        count,
    )
    return int(count)


async def _extend_leases(tx: Tx, session: agent_session.AgentSession, now: int) -> None:
    await tx.queue(
        "update lease set expires_at = case when expires_at < $3 + ttl then $3 + ttl else expires_at end"
        " where project = $1 and session = $2 and expires_at > $4",
        session.project,
        session.id,
        now,
        now - TAKEOVER_DELAY,
    )


async def _count_leases_after(tx: Tx, session: agent_session.AgentSession, expiry: int) -> int:
    row = await tx.one(
        "select count(*) as n from lease where project = $1 and session = $2 and expires_at > $3",
        session.project,
        session.id,
        expiry,
    )
    return int(row["n"]) if row else 0


async def _renew_on_activity(
    tx: Tx, session: agent_session.AgentSession, held: Sequence[Row], now: int, store_now: int
) -> bool:
    """Renew on every call; delete the leases that lapsed before it and notify the session once."""
    await _extend_leases(tx, session, store_now)
    if held[0]["first"] > store_now - TAKEOVER_DELAY:
        return False
    lost = await tx.all(
        "delete from lease where project = $1 and session = $2 and expires_at <= $3 returning session, path",
        session.project,
        session.id,
        store_now - TAKEOVER_DELAY,
    )
    await notify_lapsed_holders(tx, session.project, lost, now)
    return True


RENEW_LEASES = activity.ActivityStep(LEASES_OF_SESSION, _renew_on_activity)


async def release_leases_of_session(tx: Tx, project: str, session: str, now: int) -> list[str]:
    """Delete the session's leases; return the paths that were still held."""
    rows = await tx.all(
        "delete from lease where project = $1 and session = $2 returning path, expires_at", project, session
    )
    return sorted(shorten_path(row["path"]) for row in rows if row["expires_at"] > now - TAKEOVER_DELAY)


async def notify_lapsed_holders(tx: Tx, project: str, rows: Sequence[Row], now: int) -> None:
    files_by_session: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        files_by_session[row["session"]].append(row["path"])
    for session, files in files_by_session.items():
        notice = Notice("lapsed", {"files": format_file_names(files)})
        await notify_sessions(tx, project, [session], notice, now)


def format_file_names(files: Sequence[str]) -> str:
    """List a few names and count the rest: `a.py, b.py and 3 more`."""
    listed = [shorten_path(file) for file in sorted(files)[:5]]
    more = len(files) - len(listed)
    return ", ".join(listed) + (f" and {more} more" if more else "")


async def list_leases_with_tokens(
    tx: Tx, project: str, session: str, tokens: Sequence[int], fold: bool
) -> list[Lease]:
    """List the leases of a live session that have one of these fencing tokens."""
    rows = await tx.all(
        f"{_SELECT_LEASES} and lease.session = $2 and lease.token = any($3)", project, session, list(tokens)
    )
    leases = [Lease.from_row(row, fold) for row in rows]
    return [lease for lease in leases if not lease.session_ended]


async def list_open_sessions(tx: Tx, project: str, agent: str) -> list[agent_session.AgentSession]:
    """List the sessions of an agent that have not ended, the latest first."""
    rows = await tx.all(
        "select project, id, agent, agent_type, key_id, working_directory, 0 as has_notice from session"
        " where project = $1 and agent = $2 and ended_at is null order by started_at desc, id limit 200",
        project,
        agent,
    )
    return [agent_session.session_from_row(row) for row in rows]


# The time of leases stays steady over jumps of the store's clock and over restarts (`store/lease_clock.py`): a running
# server adds a jump to the shift that all replicas share, and writes down the time that it saw last while there are leases.
# A server that starts continues from there: in the same boot of the same machine its down time counts, else a lease has as
# much time left as it had then.


class SeenTime(msgspec.Struct, frozen=True):
    """A time of leases, and when that was on the boot clock of the machine that saw it."""

    at: int
    boot_id: str
    boot_at: int

    def expect_now(self, boot_id: str, boot_now: int) -> int:
        """The time that it must be now, if the clock was not set."""
        return self.at + (boot_now - self.boot_at if boot_id and boot_id == self.boot_id else 0)


async def resume_lease_clock(database: Database) -> None:
    """Continue the time of leases where the last server stopped; before the first call."""
    clock = database.lease_clock
    if clock is not None:
        jump = await database.write(lambda tx: _resume(tx, clock, read_boot_id()))
        if jump:
            _log.warning("leases keep the time they had left", extra={"clock_moved_seconds": jump // SECOND})


async def _resume(tx: Tx, clock: LeaseClock, boot_id: str) -> int:
    now = await tx.clock()
    shift = clock.jump.shift
    expected = await _expect_now(tx, boot_id, clock.read_boot())
    if expected is None or expected - JUMP_MICROSECONDS <= now <= expected + _MAX_UNSEEN_MICROSECONDS:
        return 0
    return now - expected if await store_clock_shift(tx, shift + now - expected, shift) else 0


async def _expect_now(tx: Tx, boot_id: str, boot_now: int) -> int | None:
    """The time of leases that the last server would show now; None if there are no leases."""
    renewed = await tx.one(
        "select max(expires_at - ttl) as at from lease where project = any($1)",
        await list_all_project_names(tx),
    )
    if renewed is None or renewed["at"] is None:
        return None
    row = await tx.one("select value from setting where name = 'clock_seen'")
    seen = msgspec.json.decode(row["value"], type=SeenTime).expect_now(boot_id, boot_now) if row else 0
    return max(seen, int(renewed["at"]))


async def watch_lease_clock(database: Database) -> None:
    """Notice a jump of the store's clock, and write down the time if there are leases."""
    clock = database.lease_clock
    if clock is None:
        return
    await database.read(lambda tx: tx.clock())
    if clock.jump.microseconds:
        await database.write(lambda tx: _settle_jump(tx, clock))
    if await database.read(_has_leases):
        await database.write(lambda tx: _store_seen_time(tx, clock, read_boot_id()))


async def _settle_jump(tx: Tx, clock: LeaseClock) -> None:
    """Add the jump to the shift. Another replica may have done it meanwhile: then nothing is changed."""
    await tx.clock()
    jump, shift = clock.jump
    if jump and await store_clock_shift(tx, shift + jump, shift):
        _log.warning("the store's clock jumped; leases do not", extra={"seconds": jump / SECOND})


async def _has_leases(tx: Tx) -> bool:
    projects = await list_all_project_names(tx)
    return await tx.one("select 1 as yes from lease where project = any($1) limit 1", projects) is not None


async def _store_seen_time(tx: Tx, clock: LeaseClock, boot_id: str) -> None:
    seen = SeenTime(await tx.clock(), boot_id, clock.read_boot())
    await tx.queue(
        "insert into setting (name, value) values ('clock_seen', $1)"
        " on conflict (name) do update set value = excluded.value",
        msgspec.json.encode(seen).decode(),
    )


def read_boot_id() -> str:
    """The boot of this machine; empty where it is not known."""
    try:
        return _BOOT_ID_FILE.read_text(encoding="ascii").strip()
    except OSError:
        return ""


async def raise_token_epoch(tx: Tx, now: int) -> int:
    """Raise the epoch after a restore, and return it.

    The leases of the backup end, and their sessions are notified: another agent may have had their files since.
    """
    row = await tx.one("select value from setting where name = 'epoch'")
    epoch = (int(row["value"]) if row else FIRST_EPOCH) + 1
    await tx.queue(
        "insert into setting (name, value) values ('epoch', $1)"
        " on conflict (name) do update set value = excluded.value",
        str(epoch),
    )
    await _delete_all_leases(tx, now)
    return epoch


async def _delete_all_leases(tx: Tx, now: int) -> None:
    projects = await list_all_project_names(tx)
    ended: dict[str, list[Row]] = defaultdict(list)
    for row in await tx.all(
        "delete from lease where project = any($1) returning project, session, path", projects
    ):
        ended[row["project"]].append(row)
    for project, rows in ended.items():
        await notify_lapsed_holders(tx, project, rows, now)
