"""Locks against a plain model: random agents, times, restarts and zombies."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from lock_paths import (
    FILES,
    INSIDE,
    JOINED,
    MEANS,
    NAMED,
    REGIONS,
    C,
    X,
    Y,
    Z,
    paths_meet,
    shown_file,
    shown_name,
)
from lock_queue_model import QueueModel

from commonplace import access, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.clock import MINUTE, SECOND, iso
from commonplace.config import Settings
from commonplace.masking.session_ids import hash_session_id
from commonplace.rooms.locks import granting
from commonplace.rooms.locks import store as lease_time
from commonplace.store.database import Tx
from commonplace.store.lease_clock import LeaseClock
from commonplace.store.migrate import migrate
from team import Agent, HandClock, open_store

DELAY = 15 * SECOND
BETWEEN_CALLS = 5 * SECOND

agents = st.sampled_from(["alice", "alice", "bob", "bob", "carol"])
indexes = st.integers(0, 20)
# The call comes so many seconds after some lease ended, or five seconds after the last call.
edges = st.sampled_from([None, None, -1, 0, 1, 14, 15, 16])
picks = st.lists(st.integers(0, 999), min_size=1, max_size=2)
requests = st.fixed_dictionaries(
    {
        "files": picks,
        "mode": st.sampled_from(["exclusive", "shared"]),
        "minutes": st.sampled_from([1, 1, 30]),
    }
)


class SetClock(HandClock):
    """A clock that is also set by hand; `now` is the time that really passed."""

    def __init__(self) -> None:
        super().__init__()
        self.skew = 0

    def __call__(self) -> int:
        return self.now + self.skew


class World:
    """The real product on one store; every example gets a project of its own."""

    def __init__(self, address: Path | str) -> None:
        self.address, self.clock, self.projects = address, SetClock(), count(1)
        self.runner = asyncio.Runner()
        self.open()
        self.run(self.hold_a_lease())

    async def hold_a_lease(self) -> None:
        """Servers keep the time of leases over a restart only while there are some, and the model has no other time."""
        started = await Agent(self.calls).start_session(project="p0", claude_instance="zoe")
        await Agent(self.calls, started["session_id"]).lock_files(files=[C])

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def open(self) -> None:
        lease_clock = LeaseClock(lambda: self.clock.now)
        self.store = self.run(open_store(self.address, self.clock, lease_clock))
        self.run(migrate(self.store))
        self.run(lease_time.resume_lease_clock(self.store))
        self.calls = Calls(self.store, CATALOGUE, Settings(), self.clock)

    def watch_clock(self) -> None:
        self.run(lease_time.watch_lease_clock(self.store))

    def restart_server(self) -> None:
        self.watch_clock()
        self.run(self.store.close())
        self.open()

    def close(self) -> None:
        self.run(self.store.close())
        self.runner.close()


@dataclass
class Held:
    mode: str
    token: int
    ttl: int
    expires_at: int


@dataclass(frozen=True)
class Granted:
    """What somebody once got, and may still believe in."""

    session: str
    path: str
    token: int


class Machine(RuleBasedStateMachine):
    world: World
    paths: Sequence[str]

    @initialize()
    def begin_example(self) -> None:
        self.project = f"p{next(self.world.projects)}"
        self.sessions: dict[str, str] = {}
        self.held: dict[tuple[str, str], Held] = {}
        self.granted: list[Granted] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.highest = 0
        self.queue = QueueModel(self)

    # -- the real thing ---------------------------------------------------------------------------------------

    def call_operation(self, name: str, operation: str, **arguments: Any) -> dict[str, Any]:
        self.world.clock.now += BETWEEN_CALLS
        session_id = self.open_session(name)
        agent = Agent(self.world.calls, session_id)
        return self.world.run(getattr(agent, operation)(**arguments))

    def open_session(self, name: str) -> str:
        if name not in self.sessions:
            start = Agent(self.world.calls).start_session(project=self.project, claude_instance=name)
            self.sessions[name] = self.world.run(start)["session_id"]
            self.queue.start_session(name, hash_session_id(self.sessions[name]))
            self.world.clock.now += BETWEEN_CALLS
        return self.sessions[name]

    def session_digest(self, name: str) -> str:
        return hash_session_id(self.open_session(name))

    def load_leases(self) -> list[dict[str, Any]]:
        query = "select path, session, mode, token, expires_at from lease where project = $1"
        rows = self.world.run(self.world.store.read(lambda tx: tx.all(query, self.project)))
        return [dict(row) for row in rows]

    def advance_to_edge(self, edge: int | None) -> None:
        if self.held and edge is not None:
            end_session = min(held.expires_at for held in self.held.values())
            self.world.clock.now = max(self.now, end_session + edge * SECOND - BETWEEN_CALLS)

    # -- the model --------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self.world.clock.now

    def held_by(self, session: str) -> dict[str, Held]:
        return {path: held for (owner, path), held in self.held.items() if owner == session}

    def conflicting_keys(self, session: str, path: str, mode: str) -> list[tuple[str, str]]:
        """Leases of others that exclude this wish, whether or not they are alive."""
        return [
            (owner, other)
            for (owner, other), held in self.held.items()
            if owner != session and paths_meet(path, other) and not mode == held.mode == "shared"
        ]

    def blocks_others(self, held: Held) -> bool:
        return self.now < held.expires_at + DELAY

    def renew_held(self, session: str) -> int:
        renewed = 0
        for path, held in self.held_by(session).items():
            if self.blocks_others(held):
                held.expires_at = max(held.expires_at, self.now + held.ttl)
                renewed += 1
            else:
                del self.held[session, path]
        return renewed

    def find_own(self, session: str, request: dict[str, Any]) -> dict[str, tuple[str | None, list[str]]]:
        """For each requested path the lease that already gives it, else those that become one with it."""
        alive = {path: held for path, held in self.held_by(session).items() if self.blocks_others(held)}
        given = {wanted: self.find_giving(alive, wanted, request["mode"]) for wanted in request["files"]}
        used = set(given.values())
        found: dict[str, tuple[str | None, list[str]]] = {}
        for wanted, path in given.items():
            joined = [
                other
                for other, held in alive.items()
                if held.mode == request["mode"] and other not in used and frozenset({other, wanted}) in JOINED
            ]
            found[wanted] = (path, [] if path else joined)
            used |= set(found[wanted][1])
        return found

    @staticmethod
    def find_giving(alive: dict[str, Held], wanted: str, mode: str) -> str | None:
        if wanted in alive:
            return wanted
        around = [
            path
            for path, held in alive.items()
            if wanted in INSIDE.get(path, []) and (held.mode == "exclusive" or mode == "shared")
        ]
        return max(around, key=lambda path: alive[path].token, default=None)

    def record_grant(
        self,
        session: str,
        wanted: str,
        own: tuple[str | None, list[str]],
        request: dict[str, Any],
        token: int,
    ) -> str:
        """Record what the session has now, and return its path."""
        held_path, joined = own
        before = self.held[session, held_path] if held_path else None
        ttl = request["minutes"] * MINUTE
        until, mode, path, same = self.now + ttl, request["mode"], held_path or wanted, False
        if before:
            until, ttl = max((until, ttl), (before.expires_at, before.ttl))
            same = before.mode == "exclusive" or mode == "shared"
            mode = before.mode if same else mode
        for other in joined:
            joining = self.held.pop((session, other))
            until, ttl = max((until, ttl), (joining.expires_at, joining.ttl))
            path = JOINED.get(frozenset({path, other}), path)
        if before and same:
            assert token == before.token
        else:
            assert token > self.highest
            self.highest = token
        self.held[session, path] = Held(mode, token, ttl, until)
        self.granted.append(Granted(session, path, token))
        return path

    # -- rules ------------------------------------------------------------------------------------------------

    def pick_paths(self, picked: list[int]) -> list[str]:
        return list(dict.fromkeys(self.paths[index % len(self.paths)] for index in picked))

    @rule(name=agents, request=requests, edge=edges)
    def request_locks(self, name: str, request: dict[str, Any], edge: int | None) -> None:
        self.acquire_locks(name, request | {"files": self.pick_paths(request["files"])}, edge)

    def acquire_locks(self, name: str, request: dict[str, Any], edge: int | None) -> None:
        self.advance_to_edge(edge)
        self.asked.append((name, request))
        reply = self.call_operation(name, "lock_files", **request)
        session = self.session_digest(name)
        is_waiting = self.queue.is_waiting(session)
        conflicting_keys = [
            (path, key)
            for path in request["files"]
            for key in self.conflicting_keys(session, path, request["mode"])
        ]
        blocked = {path for path, key in conflicting_keys if self.blocks_others(self.held[key])}
        queue, reserved = self.queue.ask(session, request)
        shown = {
            (conflict["file"], conflict.get("reserved", False)) for conflict in reply.get("conflicts", [])
        }
        assert shown == {(shown_file(path), False) for path in blocked} | {
            (shown_file(path), True) for path, _ in reserved
        }
        assert reply["success"] is not bool(shown)
        if reply["success"]:
            for _, key in conflicting_keys:
                self.held.pop(key, None)
            assert [grant["file"] for grant in reply["locked"]] == list(map(shown_file, request["files"]))
            found, granted = self.find_own(session, request), []
            for wanted, grant in zip(request["files"], reply["locked"], strict=True):
                path = self.record_grant(session, wanted, found[wanted], request, grant["token"])
                granted.append((path, self.held[session, path]))
                expires_at = self.held[session, path].expires_at
                assert grant["expires_at"] == iso(expires_at + self.world.clock.skew)
            self.queue.serve(session, queue, request, granted)
        else:
            met = [(path, self.held[key]) for path, key in conflicting_keys if path in blocked]
            self.queue.join(session, request, [each for each in met if self.blocks_others(each[1])], reserved)
        self.renew_held(session)
        self.queue.note_activity(session, is_waiting)

    @rule(index=indexes, other=st.none() | agents, edge=edges)
    def repeat_request(self, index: int, other: str | None, edge: int | None) -> None:
        """The same request a second time, from whom it was or from somebody else."""
        if self.asked:
            name, request = self.asked[-1 - index % len(self.asked)]
            self.acquire_locks(other or name, request, edge)

    @rule(names=st.permutations(["alice", "bob", "carol"]), index=st.integers(0, 999))
    def wait_for_a_file_that_is_released(self, names: list[str], index: int) -> None:
        """The first has it, the others want it; then it is free for the second."""
        request = {"files": self.pick_paths([index]), "mode": "exclusive", "minutes": 1}
        for name in names:
            self.acquire_locks(name, request, None)
        self.release_files(names[0], request["files"])

    @rule(name=agents, edge=edges)
    def send_heartbeat(self, name: str, edge: int | None) -> None:
        self.advance_to_edge(edge)
        reply = self.call_operation(name, "heartbeat")
        session = self.session_digest(name)
        assert reply["leases_renewed"] == self.renew_held(session)
        self.queue.note_activity(session, self.queue.is_waiting(session))

    @rule(name=agents, picked=picks)
    def release_some_files(self, name: str, picked: list[int]) -> None:
        self.release_files(name, self.pick_paths(picked))

    def release_files(self, name: str, files: list[str]) -> None:
        reply = self.call_operation(name, "unlock_files", files=files)
        session = self.session_digest(name)
        own_paths = {path for path, held in self.held_by(session).items() if self.blocks_others(held)}
        named = {file: own_paths & set(NAMED.get(file, [file])) for file in files}
        released = set().union(*named.values())
        for file in files:
            for path in NAMED.get(file, [file]):
                self.held.pop((session, path), None)
        assert set(reply.get("released", [])) == set(map(shown_name, released))
        assert set(reply.get("not_held", [])) == {shown_name(file) for file in files if not named[file]}
        assert set(reply.get("still_held", [])) == set(map(shown_name, own_paths - released))
        self.leave_queue(session, files, bool(released))
        self.renew_held(session)
        self.queue.note_activity(session, self.was_waiting)

    def leave_queue(self, session: str, files: list[str] | None, has_released: bool) -> None:
        self.was_waiting = self.queue.is_waiting(session)
        if self.queue.withdraw(session, files) or has_released:
            self.queue.tell_free()

    @rule(index=indexes)
    def release_what_is_held(self, index: int) -> None:
        held = sorted(
            (name, path) for name in self.sessions for path in self.held_by(self.session_digest(name))
        )
        if held:
            name, path = held[index % len(held)]
            self.release_files(name, [path])

    @rule(name=agents)
    def release_all_files(self, name: str) -> None:
        self.call_operation(name, "unlock_files")
        self.release_everything(name)
        self.queue.note_activity(self.session_digest(name), self.was_waiting)

    def release_everything(self, name: str) -> None:
        session = self.session_digest(name)
        held = self.held_by(session)
        for path in held:
            del self.held[session, path]
        self.leave_queue(session, None, any(map(self.blocks_others, held.values())))

    @rule(name=agents)
    def end_session(self, name: str) -> None:
        self.call_operation(name, "end_session", summary="done")
        self.queue.ended.add(self.session_digest(name))
        self.release_everything(name)
        self.queue.note_activity(self.session_digest(name), self.was_waiting)
        del self.sessions[name]

    @rule(index=indexes, file=st.sampled_from([X, Y, Z, C]))
    def present_an_old_token(self, index: int, file: str) -> None:
        if not self.granted:
            return
        old = self.granted[-1 - index % len(self.granted)]
        held = self.held.get((old.session, old.path))
        good = held is not None and held.token == old.token and file in MEANS[old.path]
        assert self.passes_the_fence(old, file) is good

    def passes_the_fence(self, old: Granted, file: str) -> bool:
        ids_by_digest = {hash_session_id(session_id): session_id for session_id in self.sessions.values()}
        if old.session not in ids_by_digest:  # an ended session can present nothing
            return False

        async def present_token(tx: Tx) -> None:
            call = await self.world.calls.bind_call(tx, access.LOCAL, ids_by_digest[old.session], None)
            await granting.require_current_tokens(call, [old.token], [file])

        try:
            self.world.run(self.world.store.read(present_token))
        except errors.StaleToken:
            return False
        return True

    @rule(seconds=st.sampled_from([1, 10, 60, 1800]))
    def advance_clock(self, seconds: int) -> None:
        self.world.clock.advance(seconds=seconds)

    @rule(hours=st.sampled_from([-24, -1, 1, 24]), is_noticed=st.booleans())
    def set_the_clock(self, hours: int, is_noticed: bool) -> None:
        self.world.clock.skew += hours * 60 * MINUTE
        if is_noticed:
            self.world.watch_clock()

    @rule()
    def restart_server(self) -> None:
        self.world.restart_server()

    # -- what always holds ------------------------------------------------------------------------------------

    @invariant()
    def leases_are_those_of_the_model(self) -> None:
        stored = self.load_leases()
        stored_by_key = {(row["session"], row["path"]): (row["mode"], row["token"]) for row in stored}
        assert stored_by_key == {key: (held.mode, held.token) for key, held in self.held.items()}
        nobody_shares_what_somebody_has_alone([row for row in stored if row["expires_at"] > self.now])
        for row in stored:
            assert row["expires_at"] >= self.held[row["session"], row["path"]].expires_at

    @invariant()
    def who_waits_is_as_in_the_model(self) -> None:
        query = "select session, path, mode, at, until, reserved_until from lock_waiter where project = $1"
        rows = self.world.run(self.world.store.read(lambda tx: tx.all(query, self.project)))
        stored = {
            (row["session"], row["path"]): (row["mode"], row["at"], row["until"], row["reserved_until"])
            for row in rows
        }
        assert stored == {
            key: (wait.mode, wait.at, wait.until, wait.reserved_until)
            for key, wait in self.queue.waits.items()
        }


def nobody_shares_what_somebody_has_alone(live: list[dict[str, Any]]) -> None:
    for row in live:
        for other in live:
            if row["session"] != other["session"] and paths_meet(row["path"], other["path"]):
                assert row["mode"] == other["mode"] == "shared"


def run_machine(
    world: World, *, examples: int, steps: int = 30, paths: Sequence[str] = (*FILES, *REGIONS), **more: Any
) -> None:
    machine = type("LockMachine", (Machine,), {"world": world, "paths": paths})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            **more,
        ),
    )
