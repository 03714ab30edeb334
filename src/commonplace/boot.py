"""Boot sections: what a room contributes to the boot pack that memory_start_session returns.

Each room defines its sections in `rooms/<room>/boot.py`; `rooms/sessions/boot_pack.py` fits them into the caller's budget.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from commonplace.call import Call
from commonplace.store.database import Row


@dataclass(frozen=True, slots=True)
class StartingSession:
    """The session that starts, as boot sections see it."""

    project: str
    agent: str
    session: str
    task: str
    working_directory: str
    previous_start: int | None
    handoff: Row | None = None
    """The handoff to continue: an unfinished one that fits, else the agent's own last one."""
    handoff_is_unfinished: bool = False
    work: Row | None = None
    """The agent's last work item."""


@dataclass(frozen=True, slots=True)
class BootSection:
    """One field of the boot pack. `rank` decides what survives a small budget: low ranks are filled first."""

    name: str
    rank: int
    gather: Callable[[Call, StartingSession], Awaitable[object]]
