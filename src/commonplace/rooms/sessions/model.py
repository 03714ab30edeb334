"""What a session is told when it starts, and says when it ends."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from commonplace.clock import DAY
from commonplace.operation import Reply

UNKNOWN = "unknown"
LIVES_FOR = {"handoff": 28 * DAY, "learning": 180 * DAY}

ShortText = Annotated[str, Field(max_length=2000)]
PathText = Annotated[str, Field(max_length=4096)]
LongText = Annotated[str, Field(max_length=20_000)]
Summary = Annotated[str, StringConstraints(strip_whitespace=True, max_length=20_000)]
"""An empty one, with no notes, hands nothing over: a program ended the session, not its agent."""
Files = Annotated[list[PathText], Field(max_length=500)]
Budget = Annotated[int, Field(ge=300, le=20_000)]


class Started(Reply, kw_only=True):
    """Fields that seldom change come first, so that prompt caches hit."""

    guidelines: list[Any] = []
    project: str
    agent: str
    session_id: str
    role: str = ""
    handoff: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    backlog: list[Any] = []
    learnings: list[Any] = []
    patterns: list[Any] = []
    state_spec: Any = None
    active_agents: list[Any] = []
    relevant_locks: list[Any] = []
    recent_modifications: list[Any] = []
    signals: list[Any] = []
    blocking_others: list[Any] = []
    interface_updates: list[Any] = []
    identity_suggestion: dict[str, Any] = {}
    registry_warning: str = ""
    worker: dict[str, Any] = {}
    action_needed: str = ""
    notable_tools: list[str] = []
    omitted: dict[str, int] = {}


class Ended(Reply):
    status: str
    handoff_id: str = ""
    learning_id: str = ""
    released_locks: list[str] = []
