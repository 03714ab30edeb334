"""An agent's hook event and our answer, in terms that are the same for every agent."""

from typing import Any, Literal, NamedTuple

EventKind = Literal[
    "session_start",
    "before_edit",
    "after_edit",
    "before_shell",
    "after_shell",
    "prompt",
    "stop",
    "before_compact",
    "session_end",
    "before_call",
    "subagent_start",
    "subagent_end",
    "waiting",
    "waiting_over",
]


class WaitingRequest(NamedTuple):
    """What an agent's program waits for a person to answer; `kind` as in memory_report_request."""

    kind: str
    title: str = ""
    text: str = ""
    questions: tuple[dict[str, Any], ...] = ()
    answered: Literal["beside", "before", "never"] = "never"
    """Whether a hook can answer it: beside the program's open dialog, or only before the dialog opens."""
    is_hint: bool = False
    """Whether another event may have reported the same with more details."""
    is_certain: bool = True
    """Whether the program surely asks a person; else it is reported only if the hook waits for the answer."""
    tool_input: dict[str, Any] | None = None
    """The input of the tool that asks, where an answer is given as a changed input."""


class HookEvent(NamedTuple):
    kind: EventKind
    name: str
    """The agent's own name for the event."""
    session: str
    cwd: str
    files: tuple[str, ...] = ()
    prompt: str = ""
    transcript: str = ""
    source: str = ""
    call_id: str = ""
    """The agent's id of a call of one of our tools."""
    own_tool: str = ""
    """The tool of ours that is about to be called without saying in which session."""
    arguments: dict[str, Any] | None = None
    """The arguments of that call, or of the editing tool."""
    subagent: str = ""
    """The id of the sub-agent that the event is of, while it acts for its parent."""
    parent: str = ""
    """The agent session of the parent, if the event is of a sub-agent with a session of its own."""
    command: str = ""
    """The line that the agent's shell tool is about to run in `cwd`, or has run."""
    tool: str = ""
    """The program's own name of the tool that edits or runs the command."""
    exit_code: int | None = None
    """How the command ended, if the program tells."""
    request: WaitingRequest | None = None


class HookAnswer(NamedTuple):
    """`context` is for the model, `warning` is also shown to the user, and `denial` prevents the edit or command.

    `arguments` are added to the call of one of our tools. `verdict` is a person's answer to what the program waits for,
    as memory_wait_for_answer returns it. With `asks` the denial is put to the person as a question.
    """

    context: str = ""
    denial: str = ""
    warning: str = ""
    arguments: dict[str, str] | None = None
    verdict: dict[str, Any] | None = None
    asks: bool = False
    reports_end: bool = False
    """Whether a rule wants to know how the command ends, for a program that otherwise would not send that."""


class HookOutput(NamedTuple):
    """What the hook process writes, and its exit code."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
