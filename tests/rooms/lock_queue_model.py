"""The queue for locks as a plain model: who waits for what, since when, and whose turn it is at a free path.

It reads what is held, and the time, from the machine whose part it is (`lock_machine.py`).
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lock_paths import covers_path, paths_meet, shown_file

from commonplace.clock import MINUTE, SECOND

if TYPE_CHECKING:
    from lock_machine import Held, Machine

TURN = 20 * SECOND
EXPECTED_LEASE = 30 * MINUTE


@dataclass(frozen=True)
class Wait:
    session: str
    path: str
    mode: str
    at: int
    until: int
    reserved_until: int = 0

    @property
    def place(self) -> tuple[int, str]:
        return self.at, self.session


class QueueModel:
    def __init__(self, machine: "Machine") -> None:
        self.machine = machine
        self.waits: dict[tuple[str, str], Wait] = {}
        self.names: dict[str, str] = {}
        self.started: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self.active: dict[str, int] = {}
        self.ended: set[str] = set()

    # -- time and sessions ------------------------------------------------------------------------------------

    @property
    def wall(self) -> int:
        return self.machine.now + self.machine.world.clock.skew

    def start_session(self, name: str, session: str) -> None:
        self.names[session], self.active[session] = name, self.wall
        self.started[name].append((session, self.wall))

    def is_awake(self, session: str) -> bool:
        """A clock that was set back makes an earlier session of the agent look like a later one."""
        others = [at for other, at in self.started[self.names[session]] if other != session]
        return session not in self.ended and all(at <= self.active[session] for at in others)

    def is_waiting(self, session: str) -> bool:
        return any(wait.until > self.machine.now for wait in self.waits.values() if wait.session == session)

    def note_activity(self, session: str, was_waiting: bool) -> None:
        self.active[session] = max(self.active[session], self.wall)
        if was_waiting:
            self.tell_free()

    # -- who is next ------------------------------------------------------------------------------------------

    def list_waits(self, asking: str = "") -> list[Wait]:
        alive = [
            wait
            for wait in self.waits.values()
            if wait.until > self.machine.now and (wait.session == asking or self.is_awake(wait.session))
        ]
        return sorted(alive, key=lambda wait: (wait.at, wait.session, wait.path))

    def is_reserved(self, wait: Wait) -> bool:
        return wait.reserved_until > self.machine.now

    def is_lost(self, wait: Wait) -> bool:
        return 0 < wait.reserved_until <= self.machine.now

    def tell_free(self, asking: str = "") -> list[Wait]:
        """End the turns that were not used, begin those of paths that came free; return who waits then."""
        for wait in self.list_waits(asking):
            key = (wait.session, wait.path)
            if wait.session == asking:
                continue
            if self.is_lost(wait):
                del self.waits[key]
            elif not wait.reserved_until and not self.is_held_by_others(wait):
                end = self.machine.now + TURN
                self.waits[key] = replace(wait, reserved_until=end, until=max(wait.until, end))
        return self.list_waits(asking)

    def is_held_by_others(self, wait: Wait) -> bool:
        keys = self.machine.conflicting_keys(wait.session, wait.path, wait.mode)
        return any(self.machine.blocks_others(self.machine.held[key]) for key in keys)

    # -- what a request does ----------------------------------------------------------------------------------

    def ask(self, session: str, request: dict[str, Any]) -> tuple[list[Wait], list[tuple[str, Wait]]]:
        """Who waits, and where it is the turn of somebody who waited longer."""
        wished = [Wait(session, path, request["mode"], 0, 0) for path in request["files"]]

        def meets_wish(wait: Wait) -> bool:
            return any(wait.path == wish.path or exclude(wish, wait) for wish in wished)

        waits = self.tell_free(session)
        own = [wait.place for wait in waits if wait.session == session and meets_wish(wait)]
        reserved = [
            (wish.path, wait)
            for wait in waits
            if wait.session != session and self.is_reserved(wait)
            for wish in wished
            if exclude(wish, wait) and not (own and min(own) < wait.place)
        ]
        return waits, reserved

    def serve(
        self, session: str, waits: list[Wait], request: dict[str, Any], granted: list[tuple[str, "Held"]]
    ) -> None:
        """The session got these: it does not wait for them any more, and others wait for it."""
        for wait in waits:
            key = (wait.session, wait.path)
            if wait.session == session:
                wishes = [Wait(session, path, request["mode"], 0, 0) for path in request["files"]]
                is_covered = any(covers_path(wish.path, wait.path) for wish in wishes)
                is_near = any(
                    shown_file(wish.path) == shown_file(wait.path) and exclude(wish, wait) for wish in wishes
                )
                if is_covered or (wait.reserved_until and is_near):
                    self.waits.pop(key, None)
                continue
            met = [
                held.expires_at + held.ttl
                for path, held in granted
                if exclude(Wait(session, path, held.mode, 0, 0), wait)
            ]
            if met and key in self.waits:
                self.waits[key] = replace(wait, until=max(wait.until, *met), reserved_until=0)

    def join(
        self,
        session: str,
        request: dict[str, Any],
        held: list[tuple[str, "Held"]],
        reserved: list[tuple[str, Wait]],
    ) -> None:
        """The session waits for what it met; who waits already keeps its place."""
        ends: dict[str, int] = {}
        for path, lease in held:
            ends[path] = max(ends.get(path, 0), lease.expires_at + lease.ttl)
        for path, wait in reserved:
            ends[path] = max(ends.get(path, 0), wait.reserved_until + 2 * EXPECTED_LEASE)
        for path, end in ends.items():
            before = self.waits.get((session, path))
            fresh = Wait(session, path, request["mode"], self.wall, end)
            if before and before.until > self.machine.now:
                turn = 0 if self.is_lost(before) else before.reserved_until
                fresh = replace(
                    before, mode=request["mode"], until=max(before.until, end), reserved_until=turn
                )
            elif before:
                turn = before.reserved_until if self.is_reserved(before) else 0
                fresh = replace(fresh, until=max(before.until, end), reserved_until=turn)
            self.waits[session, path] = fresh

    def withdraw(self, session: str, files: list[str] | None) -> bool:
        gone = [
            key
            for key, wait in self.waits.items()
            if wait.session == session and (files is None or wait.path in files)
        ]
        for key in gone:
            del self.waits[key]
        return bool(gone)


def exclude(a: Wait, b: Wait) -> bool:
    return paths_meet(a.path, b.path) and not a.mode == b.mode == "shared"
