"""Arguments and replies about workspaces and their knowledge files."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from commonplace import access, errors
from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.rooms.workspaces import path_rules
from commonplace.search.lines import MAX_QUERY_CHARACTERS
from commonplace.shortening import shorten_text
from commonplace.store.database import Row

MAX_OVERVIEW_BYTES = 65_536
MAX_FILE_BYTES = 1_048_576
_SUMMARY_CHARACTERS = 300
_TITLE_CHARACTERS = 200
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*")
_FRONT_MATTER_FENCE = "---"

MachineOrToolName = Annotated[str, StringConstraints(min_length=1, max_length=64, strip_whitespace=True)]
WorkspaceId = Annotated[str, Field(min_length=1, max_length=220)]
WriteToken = Annotated[str, Field(min_length=1, max_length=200)]
KnowledgePath = Annotated[
    str,
    AfterValidator(path_rules.validate_path),
    Field(json_schema_extra={"maxLength": path_rules.MAX_PATH_CHARACTERS}),
]
FileText = Annotated[str, Field(max_length=MAX_FILE_BYTES)]
OverviewText = Annotated[str, Field(max_length=MAX_OVERVIEW_BYTES)]
PathPrefix = Annotated[str, Field(max_length=path_rules.MAX_PATH_CHARACTERS)]
Sha256 = Annotated[str, StringConstraints(max_length=64, pattern="^[0-9a-fA-F]{64}$", to_lower=True)]
SearchQuery = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)]
SearchMode = Literal["smart", "literal", "regex"]
Limit = Annotated[int, Field(ge=1, le=200)]
PageLines = Annotated[int, Field(ge=1, le=1000)]
Offset = Annotated[int, Field(ge=0, le=10_000_000)]
ContextLines = Annotated[int, Field(ge=0, le=20)]
Tokens = Annotated[int, Field(ge=100, le=100_000)]


@dataclass(frozen=True, slots=True)
class Workspace:
    """One tool on one machine working on a project. `writable`: the caller's key may write to it."""

    project: str
    id: str
    machine: str
    tool: str
    summary: str
    knowledge_count: int
    session_count: int
    last_activity: int
    writable: bool

    @property
    def address(self) -> dict[str, str]:
        """The placeholders of its resource's template."""
        return {"workspace_id": self.id}

    def file_address(self, path: str) -> dict[str, str]:
        return self.address | {"path": path}


def suggest_workspace_id(machine: str, tool: str, project: str) -> str:
    """An id made of the three names. Another workspace may have it already."""
    slugs = (access.join_words(name, "-") for name in (machine, tool, project))
    return "-".join(slug for slug in slugs if slug)


def find_title(content: str, path: str) -> str:
    """The first heading, or the file's name."""
    headings = (_HEADING.fullmatch(line.strip()) for line in content[:10_000].splitlines())
    title = next((heading[1] for heading in headings if heading and heading[1]), "")
    return shorten_text(title or path.rsplit("/", 1)[-1], _TITLE_CHARACTERS)


def summarize_overview(content: str) -> str:
    """The beginning of an overview in one line, without its front matter."""
    lines = content[:10_000].splitlines()
    if lines[:1] == [_FRONT_MATTER_FENCE] and _FRONT_MATTER_FENCE in lines[1:]:
        lines = lines[lines.index(_FRONT_MATTER_FENCE, 1) + 1 :]
    plain = " ".join(" ".join(lines).split())
    return shorten_text(plain, _SUMMARY_CHARACTERS)


def require_max_bytes(content: str, max_bytes: int) -> None:
    size = len(content.encode())
    if size > max_bytes:
        raise errors.TooLarge(
            f"The text has {size} bytes; the limit is {max_bytes}.", hint="Split or shorten it."
        )


def file_not_found(path: str) -> errors.NotFound:
    what = f"file '{path}'" if path else "overview"
    return errors.NotFound(
        f"There is no {what} in this workspace.", hint="Call list_knowledge to see its files."
    )


def version_not_found() -> errors.NotFound:
    return errors.NotFound(
        "There is no text of this version.", hint="Call list_versions to see the versions."
    )


class ListedWorkspace(Reply):
    workspace_id: str
    machine: str
    tool: str
    project: str
    knowledge_count: int
    session_count: int
    last_activity: str
    summary: str = ""

    @classmethod
    def from_workspace(cls, workspace: Workspace) -> "ListedWorkspace":
        return cls(
            workspace_id=workspace.id,
            machine=workspace.machine,
            tool=workspace.tool,
            project=workspace.project,
            knowledge_count=workspace.knowledge_count,
            session_count=workspace.session_count,
            last_activity=iso(workspace.last_activity),
            summary=workspace.summary,
        )


class WorkspaceOverview(Reply):
    readme: str
    workspaces: list[ListedWorkspace]
    author: str = ""
    your_workspace: str | None = None
    omitted: int = 0
    truncated: bool = False


class WorkspaceListing(Reply):
    workspaces: list[ListedWorkspace]
    total: int


class RegisteredWorkspace(Reply):
    workspace_id: str
    created: bool
    bound: bool
    write_token: str = ""


class KnowledgeFile(Reply):
    path: str
    title: str
    size: int
    sha256: str
    modified_at: str
    versions: int

    @classmethod
    def from_row(cls, row: Row) -> "KnowledgeFile":
        return cls(
            path=row["path"],
            title=row["title"],
            size=row["size"],
            sha256=row["sha256"],
            modified_at=iso(row["modified_at"]),
            versions=row["versions"],
        )


class KnowledgeFiles(Reply):
    files: list[KnowledgeFile]
    total: int


class KnowledgeText(Reply):
    path: str
    content: str
    size: int
    sha256: str
    modified_at: str
    version: int
    total_lines: int
    has_more: bool
    next_offset: int | None = None
    cut: bool = False
    author: str = ""


class WrittenKnowledge(Reply):
    status: Literal["created", "updated", "unchanged"]
    sha256: str
    version: int
    workspace_id: str = ""
    masked: list[str] = []


class OverviewWritten(Reply):
    workspace_id: str
    version: int
    masked: list[str] = []


class DeletedKnowledge(Reply):
    deleted: bool
    version: int


class RestoredVersion(Reply):
    path: str
    restored: int
    version: int
    sha256: str


class FileVersion(Reply):
    version: int
    at: str
    by: str
    what: str
    size: int
    sha256: str

    @classmethod
    def from_row(cls, row: Row) -> "FileVersion":
        return cls(
            version=row["version"],
            at=iso(row["at"]),
            by=row["author"],
            what=row["what"],
            size=row["size"],
            sha256=row["sha256"],
        )


class FileVersions(Reply):
    path: str
    versions: list[FileVersion]
    total: int
    diff: str = ""
    truncated: bool = False
    note: str = ""


class KnowledgeMatch(Reply):
    workspace_id: str
    path: str
    line: int
    text: str
    before: list[str] = []
    after: list[str] = []
    relevance: float | None = None
    author: str = ""


class KnowledgeMatches(Reply):
    matches: list[KnowledgeMatch]
    truncated: bool
