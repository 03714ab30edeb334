"""What an agent's hook tells us and what it is answered, in words that are the same for every agent."""

from typing import Literal, NamedTuple

EventKind = Literal[
    "session_start", "before_edit", "after_edit", "prompt", "stop", "before_compact", "session_end"
]


class HookEvent(NamedTuple):
    kind: EventKind
    name: str
    """As the agent calls it."""
    session: str
    cwd: str
    files: tuple[str, ...] = ()
    prompt: str = ""
    transcript: str = ""
    source: str = ""


class HookAnswer(NamedTuple):
    """`context` is for the model, `warning` for the person too; `denial` keeps the edit from happening."""

    context: str = ""
    denial: str = ""
    warning: str = ""


class HookOutput(NamedTuple):
    """What the hook's process leaves behind."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
