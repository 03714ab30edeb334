"""What a room contributes to the pack that a starting session gets."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from commonplace.call import Call
from commonplace.clock import HOUR
from commonplace.store.database import Row

LIVE_FOR = 24 * HOUR
"""A session that was idle for longer counts as away; using it again brings it back."""


@dataclass(frozen=True, slots=True)
class Start:
    """The session that starts, as sections see it."""

    project: str
    agent: str
    session: str
    task: str
    working_directory: str
    previous_start: int | None
    handoff: Row | None = None
    """What the agent left when it ended last."""
    work: Row | None = None
    """What it said last that it works on."""


@dataclass(frozen=True, slots=True)
class Section:
    """One field of the pack. `rank` says what survives a small budget: low ranks are filled first."""

    name: str
    rank: int
    gather: Callable[[Call, Start], Awaitable[Any]]
