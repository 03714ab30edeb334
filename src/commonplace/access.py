"""May this caller do this, in this project? Roles, projects and the caller of a request.

Who a caller is, is decided by `edges/identity.py`, what kind of being it is by `identity/principal.py`; the checks are made by `call.py`.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from commonplace import errors
from commonplace.identity.principal import Principal, PrincipalKind

Role = Literal["readonly", "agent", "admin", "owner", "sync"]
RequiredRole = Role | Literal["any"]
"""The role that an operation requires; `any` is met by every role."""

SHARED = "shared"
ALL_PROJECTS = "*"
ANONYMOUS = "anonymous"
"""The author of what is public and was written without a session and without an agent's key."""

# The roles that each role includes. `sync` uploads files, and may otherwise do only what `any` may.
_INCLUDES: dict[Role, frozenset[Role]] = {
    "readonly": frozenset({"readonly"}),
    "agent": frozenset({"readonly", "agent", "sync"}),
    "admin": frozenset({"readonly", "agent", "admin", "sync"}),
    "owner": frozenset({"readonly", "agent", "admin", "owner", "sync"}),
    "sync": frozenset({"sync"}),
}
# Signs count at the end of a word: C++ and C# are no C. Elsewhere they separate words.
_WORD = re.compile(r"[^+#]+(?:[+#]+$)?")
_JOINERS = str.maketrans("", "", "\u200c\u200d")
_MAX_NAME_CHARACTERS = 64
MAX_SPELLING_CHARACTERS = 200
"""Of a name before it is normalized; what is remembered must be short."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call: a key, or somebody on this machine while keys are off."""

    role: Role
    projects: frozenset[str]
    key: str = ""
    agent: str | None = None
    agent_type: str = ""
    kind: PrincipalKind = "agent"
    machines: frozenset[str] = frozenset()
    workspaces: frozenset[str] = frozenset()
    windows: tuple[str, ...] = ()
    """Ids of the windows that the request comes from, the most specific first (`window.py`)."""
    session: str = ""
    """The session_id that a header or `_meta` names."""
    seat: str = ""
    """`tool@machine`, or the tool alone."""
    branch: str = ""
    idempotency_key: str = ""
    """What a header or `_meta` names, so that a repeated write is carried out once (`idempotency.py`)."""
    project: str = ""
    """The project that a header names, for calls that have neither a session nor an argument that names one."""

    @property
    def principal(self) -> Principal:
        return Principal(self.kind, self.key, self.agent or "")

    @property
    def operator(self) -> bool:
        return self.kind == "operator"

    @property
    def is_person(self) -> bool:
        return self.kind in ("person", "operator")

    @property
    def decides_for_others(self) -> bool:
        """Whether it may set what others cannot get around: a person, or a key with the role admin or owner.

        While keys are off every program of the machine has the role owner, so the role alone says nothing.
        """
        return (self.is_person and self.has_role("agent")) or (bool(self.key) and self.has_role("admin"))

    def has_role(self, role: RequiredRole) -> bool:
        return role == "any" or role in _INCLUDES[self.role]

    def sees_project(self, project: str) -> bool:
        return ALL_PROJECTS in self.projects or project in self.projects

    def can_write_workspace(self, machine: str, workspace: str) -> bool:
        """May it write for this workspace of this machine? A key may be limited to machines or workspaces."""
        limited = self.machines or self.workspaces
        return not limited or machine in self.machines or workspace in self.workspaces

    @property
    def identity(self) -> str:
        """A stable text that distinguishes callers; never a secret."""
        return f"{self.key}:{self.role}"


LOCAL = Caller("owner", frozenset({ALL_PROJECTS}))
OPERATOR = Caller("owner", frozenset({ALL_PROJECTS}), agent="operator", kind="operator")


def name_author(author: str) -> str:
    """The author of a text, as it is shown; empty where it is not known."""
    return "" if author == ANONYMOUS else author


def join_words(name: str, mark: str) -> str:
    """The name in lower case, with one `mark` for every run of characters that do not belong to a word.

    Words have letters, digits and marks: in many scripts vowels are marks, and names without them would be one.
    """
    plain = unicodedata.normalize("NFC", name.translate(_JOINERS)).lower()
    spaced = "".join(character if _is_in_word(character) else " " for character in plain)
    return mark.join(word for chunk in spaced.split() for word in _WORD.findall(chunk))


def _is_in_word(character: str) -> bool:
    return character.isalnum() or character in "+#" or unicodedata.category(character).startswith("M")


def join_words_without_marks(name: str) -> str:
    """The spelling of a project name that earlier versions stored."""
    return "_".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFC", name).lower()))


def normalize_project_name(project: str) -> str:
    """The one spelling of a project name."""
    name = _join_name(project) if len(project) <= MAX_SPELLING_CHARACTERS else ""
    if not name or len(name) > _MAX_NAME_CHARACTERS:
        raise errors.Invalid(
            f"Invalid project name '{project[:80]}'.",
            hint=f"Use 1 to {_MAX_NAME_CHARACTERS} letters and digits; C++ and C# keep their signs.",
        )
    return name


@lru_cache(maxsize=4096)
def _join_name(project: str) -> str:
    return join_words(project, "_")


def require_role(caller: Caller, role: RequiredRole, operation: str) -> None:
    if not caller.has_role(role):
        raise errors.Forbidden(
            f"{_describe_operation(operation)} requires the role {role}; this key has the role {caller.role}.",
            hint=f"Ask an owner of this server for a key with the role {role}.",
        )


def _describe_operation(name: str) -> str:
    kind, colon, noun = name.partition(":")
    return f"Reading {noun.replace('_', ' ')}" if colon and kind == "resource" else name


def can_read_project(caller: Caller, project: str) -> bool:
    """Every caller may read the shared project."""
    return project == SHARED or caller.sees_project(project)


def require_project(caller: Caller, project: str, *, writes: bool) -> None:
    if caller.sees_project(project) if writes else can_read_project(caller, project):
        return
    raise errors.Forbidden(
        f"This key has no access to the project '{project}'.",
        hint="Use a project of this key, or ask an owner of this server to add the project to it.",
    )
