"""An agent's hook event and our answer, in terms that are the same for every agent."""

from collections.abc import Callable, Mapping
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


class AgentHooks(NamedTuple):
    """What an agent's `hooks.py` declares: how its hook input becomes an event, and our answer its output."""

    events: Mapping[str, EventKind]
    """The agent's own event names and the kind of each."""
    context_kinds: frozenset[EventKind]
    """Kinds of event whose answer can add context for the model."""
    warning_kinds: frozenset[EventKind]
    """Kinds of event whose answer can show the user a warning."""
    parse_event: Callable[[dict[str, Any]], HookEvent | None]
    render_answer: Callable[[HookEvent, HookAnswer], HookOutput]
    denied_by: str
    """How an edit is denied, for the documentation."""
    identify_agent: Callable[[dict[str, Any]], str] | None = None
    """The agent that sent this input, where other programs run this agent's hooks too; empty to ignore the event."""
    find_compaction: Callable[[HookEvent], str] | None = None
    """An id of the last compaction, from the transcript, for an agent without an event for it; empty if there is none."""
    subagents_have_conversations: bool = False
    """Whether the id of a sub-agent names a conversation of its own, and not one within its parent's."""
    keeps_transcripts_by_session: bool = False
    """Whether a transcript is found by the id of its session, because the agent keeps no file that it could name."""
    process_variable: str = ""
    """The variable with the agent's process id in the environment of its hooks; else it is their parent."""
    denying_kinds: frozenset[EventKind] = frozenset({"before_edit", "before_shell", "stop"})
    """Kinds of event that an answer can prevent; to prevent a stop is to make the agent go on."""
    asking_kinds: frozenset[EventKind] = frozenset()
    """Kinds of event whose answer can make the program ask the person, without hanging where there is none."""
