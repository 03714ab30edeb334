"""Boot sections: what a room contributes to the boot pack that memory_start_session returns.

Each room defines its sections in `rooms/<room>/contributes.py`; `rooms/sessions/boot_pack.py` fits them into the caller's budget.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from commonplace.call import Call
from commonplace.identity.liveness import SupersededSession
from commonplace.store.database import Row

DEFAULT_TOKEN_BUDGET = 2000
_MAX_SCALE = 5
_MIN_WORD_LETTERS = 3
# Words that are in so many tasks and paths that they tell nothing about either.
_EMPTY_WORDS = frozenset(
    [
        "add",
        "and",
        "are",
        "but",
        "can",
        "change",
        "code",
        "docs",
        "file",
        "files",
        "fix",
        "for",
        "from",
        "has",
        "have",
        "implement",
        "into",
        "lib",
        "main",
        "make",
        "new",
        "not",
        "our",
        "out",
        "project",
        "repo",
        "src",
        "test",
        "tests",
        "that",
        "the",
        "them",
        "then",
        "this",
        "update",
        "use",
        "was",
        "what",
        "when",
        "where",
        "will",
        "with",
        "work",
        "you",
    ]
)
# Words of a task that tell how it goes on, not what it is about.
_PROCESS_WORDS = frozenset(
    [
        "again",
        "agent",
        "begin",
        "carry",
        "check",
        "checking",
        "continue",
        "continued",
        "continues",
        "continuing",
        "day",
        "done",
        "finish",
        "finished",
        "getting",
        "going",
        "goes",
        "handoff",
        "help",
        "last",
        "later",
        "leave",
        "left",
        "let",
        "look",
        "morning",
        "next",
        "open",
        "pick",
        "please",
        "previous",
        "proceed",
        "resume",
        "resuming",
        "session",
        "start",
        "started",
        "starting",
        "state",
        "step",
        "still",
        "stop",
        "task",
        "today",
        "tomorrow",
        "work",
        "working",
        "yesterday",
    ]
)
_WORD = re.compile(r"\S+")


def remove_process_words(task: str, names: Collection[str] = ()) -> str:
    """The task without words that accidentally match knowledge: those of process, and names of agents."""
    dropped = _PROCESS_WORDS | {name.casefold() for name in names}
    words = (match[0] for match in _WORD.finditer(task))
    return " ".join(
        word for word in words if word.casefold().strip(".,;:!?\"'()").removesuffix("'s") not in dropped
    )


def list_topic_words(*texts: str) -> frozenset[str]:
    """The words that tell what texts or paths are about, without case and plural."""
    words = re.findall(r"[^\W_]+", " ".join(texts).casefold())
    return frozenset(
        word.removesuffix("s")
        for word in words
        if len(word) >= _MIN_WORD_LETTERS and word not in _EMPTY_WORDS
    )


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
    latest_work: Sequence[Row] = ()
    """The agent's last few work items, as `rooms/work/store.py` lists them."""
    open_titles: tuple[str, ...] = ()
    """The titles of the agent's latest work that is not completed."""
    token_budget: int = DEFAULT_TOKEN_BUDGET
    earlier_sessions: Sequence[SupersededSession] = ()
    """Dormant sessions of the agent that this one continues."""

    def scale_limit(self, limit: int) -> int:
        """The limit of a section at the default budget, made larger for a larger one."""
        scale = self.token_budget / DEFAULT_TOKEN_BUDGET
        return int(limit * min(_MAX_SCALE, max(1, scale)))

    @property
    def topic_words(self) -> frozenset[str]:
        """What the session is about: its task, and what its agent left off."""
        left_off = [row for row in (self.handoff, self.work) if row]
        files = [file for row in left_off for file in msgspec.json.decode(row["files"])]
        return list_topic_words(self.task, *(row["title"] for row in left_off), *files)


@dataclass(frozen=True, slots=True)
class PartialSection:
    """A section that shows only some of what there is."""

    items: Sequence[Any]
    omitted: int


@dataclass(frozen=True, slots=True)
class BootSection:
    """One field of the boot pack. `rank` decides what survives a small budget: low ranks are filled first."""

    name: str
    rank: int
    gather: Callable[[Call, StartingSession], Awaitable[object]]
