"""Arguments and replies about checkouts."""

from typing import Annotated, Literal

import msgspec
from pydantic import Field

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.store.database import Row

MAX_DIRTY_FILES = 1_000

MachineName = Annotated[
    str, Field(min_length=1, max_length=200, description="The machine, as workspaces name it.")
]
FolderPath = Annotated[str, Field(min_length=1, max_length=4_096)]
BranchName = Annotated[
    str, Field(max_length=300, description="The branch that is checked out; empty if none is.")
]
CommitId = Annotated[str, Field(max_length=64, description="The id of the commit that is checked out.")]
RepositoryPaths = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=4_096)]],
    Field(max_length=MAX_DIRTY_FILES, description="The changed files, from the root of the working tree."),
]
ShelfNames = Annotated[
    list[Annotated[str, Field(max_length=300)]],
    Field(max_length=100, description="Names of shelved changes."),
]
PreventedKind = Literal[
    "edit_denied",
    "command_denied",
    "commit_refused",
    "rule_fired",
    "rule_warned",
    "rescue_made",
    "conflict_predicted",
]
PreventedText = Annotated[str, Field(max_length=500)]
PreventedFiles = Annotated[
    list[Annotated[str, Field(max_length=4_096)]],
    Field(max_length=50, description="The files that it was about."),
]
PreventedAgents = Annotated[
    list[Annotated[str, Field(max_length=200)]],
    Field(max_length=50, description="The agents that would have lost something."),
]


class CheckoutSession(Reply):
    """Another live session in the same repository; `here` means in the same working tree."""

    agent: str
    here: bool
    root: str
    branch: str
    active_at: str
    task: str = ""
    locked: list[str] = []
    """Files that it holds locks on."""
    touched: list[str] = []
    """Files that it reported as changed, the newest first."""

    @classmethod
    def from_row(cls, row: Row, root: str) -> "CheckoutSession":
        return cls(
            agent=row["agent"],
            here=bool(root) and row["root"] == root,
            root=row["root"],
            branch=row["branch"],
            active_at=iso(row["active_at"]),
            task=row["task"],
        )


class DirtyFile(Reply):
    """A changed file and who changed it last; no agent means that nobody reported it."""

    file: str
    agent: str = ""
    mine: bool = False
    live: bool = False
    """Whether the session of that agent still runs."""
    at: str = ""
    leased: bool = False
    """Whether it is that agent's by a lease, not by an edit."""


class HeadMove(Reply):
    agent: str
    at: str


class CheckoutFacts(Reply):
    agent: str
    others: list[CheckoutSession]
    files: list[DirtyFile]
    moved_by: HeadMove | None = None
    known_branch: str = ""
    known_head: str = ""


class CheckoutStatus(Reply):
    root: str = ""
    branch: str = ""
    others: list[CheckoutSession] | None = None
    dirty: list[DirtyFile] | None = None
    shelved: list[str] | None = None
    """These are left out if nothing is known of the working tree: an empty list says that there is none."""
    as_of: str = ""
    """When a hook last reported what is changed in this working tree."""
    message: str = ""


class CheckoutListing(Reply):
    checkouts: list[CheckoutSession]


class PreventedReport(Reply):
    status: str


def decode_names(text: str) -> list[str]:
    return msgspec.json.decode(text, type=list[str])


def encode_names(names: list[str]) -> str:
    return msgspec.json.encode(names).decode()
