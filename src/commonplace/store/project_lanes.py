"""How many connections of a pool one project may use at once, so that a project whose locks are held takes not all.

A transaction names its project when it knows it (`Tx.claim_project`). A project may use at most four times as many
connections as it leaves free: alone it gets four fifths of the pool, and of the rest others get at least one each. Who has
no place is rolled back, waits without a connection, and runs again.
"""

import asyncio
from collections import Counter, deque

from commonplace import errors

_SHARE_OF_FREE = 4
_MAX_WAITING = 100


class LaneFull(Exception):
    """The project uses its share of the connections: roll back, wait for a place, run again."""

    def __init__(self, project: str) -> None:
        super().__init__(project)
        self.project = project


class ProjectLanes:
    def __init__(self, connections: int) -> None:
        self._free = connections
        self._used: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def try_enter(self, project: str) -> bool:
        if project in self._waiting or not self._has_place(project):
            return False
        self._take_place(project)
        return True

    async def enter(self, project: str, seconds: float) -> None:
        """Wait for a place in the order of arrival; refused if many wait already, or after `seconds`."""
        if self.try_enter(project):
            return
        waiting = self._waiting.setdefault(project, deque())
        if len(waiting) >= _MAX_WAITING:
            raise _too_busy(project)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as error:
            self._give_up(project, turn)
            if isinstance(error, TimeoutError):
                raise _too_busy(project) from None
            raise

    def leave(self, project: str) -> None:
        self._free += 1
        self._used[project] -= 1
        if not self._used[project]:
            del self._used[project]
        self._wake_waiting()

    def _has_place(self, project: str) -> bool:
        used = self._used[project]
        return self._free > 0 and (used == 0 or used + 1 <= _SHARE_OF_FREE * (self._free - 1))

    def _take_place(self, project: str) -> None:
        self._free -= 1
        self._used[project] += 1

    def _wake_waiting(self) -> None:
        """Those who use the least come first."""
        for project in sorted(self._waiting, key=lambda name: self._used[name]):
            waiting = self._waiting[project]
            while waiting and self._has_place(project):
                turn = waiting.popleft()
                if not turn.done():
                    self._take_place(project)
                    turn.set_result(None)
            if not waiting:
                del self._waiting[project]

    def _give_up(self, project: str, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self.leave(project)  # its turn came while it was being cancelled
            return
        waiting = self._waiting.get(project)
        if waiting and turn in waiting:
            waiting.remove(turn)
            if not waiting:
                del self._waiting[project]


class LaneTicket:
    """The place of one transaction, kept over its retries."""

    def __init__(self, lanes: ProjectLanes) -> None:
        self._lanes, self._project = lanes, ""

    def claim(self, project: str) -> None:
        """Take a place for the first project that is named; raise LaneFull if there is none."""
        if self._project or not project:
            return
        if not self._lanes.try_enter(project):
            raise LaneFull(project)
        self._project = project

    async def wait(self, project: str, seconds: float) -> None:
        await self._lanes.enter(project, seconds)
        self._project = project

    def leave(self) -> None:
        if self._project:
            self._lanes.leave(self._project)
            self._project = ""


def _too_busy(project: str) -> errors.Unavailable:
    return errors.Unavailable(
        f"Too many calls wait for project {project}.", hint="Try again in a moment.", retry_after=2
    )
