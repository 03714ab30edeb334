"""Arguments and replies about journals."""

from typing import Annotated, Any

from pydantic import Field

from commonplace.journal.resume import MAX_RESUME_TOKENS
from commonplace.operation import Reply

ConversationId = Annotated[
    str, Field(min_length=1, max_length=200, description="The program's id of its session.")
]
ProgramName = Annotated[
    str, Field(min_length=1, max_length=64, description="The agent program, such as claude.")
]
FolderPath = Annotated[str, Field(max_length=4096, description="The working tree of the session.")]
BranchName = Annotated[str, Field(max_length=300, description="The git branch that was checked out.")]
HookEvents = Annotated[
    list[dict[str, Any]],
    Field(
        max_length=2_000,
        description="Events in their order: {at: seconds since 1970, event: as the hook sent it}.",
    ),
]
ItemId = Annotated[
    str, Field(min_length=8, max_length=64, description="A backlog item that the session worked on.")
]
ResumeTokens = Annotated[int, Field(ge=100, le=MAX_RESUME_TOKENS, description="At most so many tokens.")]


class RecordedEvents(Reply):
    recorded: int
    state: str
    """open, ended, or finished: the session did what it was asked."""


class ResumedWork(Reply):
    """What the last session of a place left; empty where it finished what it was asked."""

    resume: dict[str, Any] = {}
    message: str = ""
