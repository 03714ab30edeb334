"""May this caller do this, in this project?"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from commonplace import errors

Role = Literal["readonly", "agent", "admin", "owner", "sync"]
RequiredRole = Role | Literal["any"]
"""What an operation asks of a caller: a role that includes this one, or `any`."""

SHARED = "shared"
ALL_PROJECTS = "*"

# What a role may do besides its own; `sync` carries files up and, beyond that, does only what any may.
_INCLUDES: dict[Role, frozenset[Role]] = {
    "readonly": frozenset({"readonly"}),
    "agent": frozenset({"readonly", "agent", "sync"}),
    "admin": frozenset({"readonly", "agent", "admin", "sync"}),
    "owner": frozenset({"readonly", "agent", "admin", "owner", "sync"}),
    "sync": frozenset({"sync"}),
}
# Letters and digits of any script belong to a name; `\w` has the underscore besides them.
_BETWEEN = re.compile(r"[\W_]+")
_NAME_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a key, or somebody on this machine while keys are off."""

    role: Role
    projects: frozenset[str]
    key: str = ""
    agent: str | None = None
    agent_type: str = ""
    operator: bool = False
    machines: frozenset[str] = frozenset()
    workspaces: frozenset[str] = frozenset()

    def has_role(self, role: RequiredRole) -> bool:
        return role == "any" or role in _INCLUDES[self.role]

    def sees_project(self, project: str) -> bool:
        return ALL_PROJECTS in self.projects or project in self.projects

    def can_write_workspace(self, machine: str, workspace: str) -> bool:
        """May it write for this workspace of this machine? A key may be limited to some of either."""
        limited = self.machines or self.workspaces
        return not limited or machine in self.machines or workspace in self.workspaces

    @property
    def identity(self) -> str:
        """Stable text that tells callers apart; never a secret."""
        return f"{self.key}:{self.role}"


LOCAL = Caller("owner", frozenset({ALL_PROJECTS}))
OPERATOR = Caller("owner", frozenset({ALL_PROJECTS}), agent="operator", operator=True)


def join_words(name: str, mark: str) -> str:
    """A name in lower case, with one mark for every run of characters that are no letters or digits."""
    return _BETWEEN.sub(mark, unicodedata.normalize("NFC", name).lower()).strip(mark)


@lru_cache(maxsize=4096)
def normalize_project_name(project: str) -> str:
    """The one spelling of a project's name."""
    name = join_words(project, "_")
    if not name or len(name) > _NAME_LENGTH:
        raise errors.Invalid(
            f"'{project[:80]}' is not a project's name.",
            hint=f"Use letters and digits, {_NAME_LENGTH} at most.",
        )
    return name


def require_role(caller: Caller, role: RequiredRole, operation: str) -> None:
    if not caller.has_role(role):
        raise errors.Forbidden(
            f"{operation} needs the role {role}; this key has {caller.role}.",
            hint="Ask an owner of this server for a key with that role.",
        )


def can_read_project(caller: Caller, project: str) -> bool:
    """Every caller may read the shared project."""
    return project == SHARED or caller.sees_project(project)


def require_project(caller: Caller, project: str, *, writes: bool) -> None:
    if caller.sees_project(project) if writes else can_read_project(caller, project):
        return
    raise errors.Forbidden(
        f"This key has no access to the project '{project}'.",
        hint="Use a project of this key, or ask an owner to widen its scope.",
    )
