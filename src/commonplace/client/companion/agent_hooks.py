"""What an agent's `hooks.py` declares: how its hook input becomes an event, and our answer its output."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from commonplace.client.companion.hook_event import EventKind, HookAnswer, HookEvent, HookOutput
from commonplace.client.companion.payload import Fields


class AgentHooks(NamedTuple):
    events: Mapping[str, EventKind]
    """The agent's own event names and the kind of each."""
    context_kinds: frozenset[EventKind]
    """Kinds of event whose answer can add context for the model."""
    warning_kinds: frozenset[EventKind]
    """Kinds of event whose answer can show the user a warning."""
    parse_event: Callable[[Fields], HookEvent | None]
    render_answer: Callable[[HookEvent, HookAnswer], HookOutput]
    denied_by: str
    """How an edit is denied, for the documentation."""
    identify_agent: Callable[[Fields], str] | None = None
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
