"""The names of people, keys and agents: one registry per project, in which no two names can be mistaken for each other.

A name belongs to the keys that are bound to it, to the person whose key or page session has it, or to the key whose agent
used it first. Names are compared without case and by what they look like. What is stored under a name belongs to its
owner: who takes a free name finds nothing there.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.identity.principal import PrincipalKind, choose_key_kind
from commonplace.look_alikes import looks_like
from commonplace.store.database import Row, Tx

RESERVED_NAMES = frozenset(
    [
        "admin",
        "admins",
        "administrator",
        "anonymous",
        "commonplace",
        "everybody",
        "everyone",
        "operator",
        "owner",
        "server",
        "shared",
        "system",
    ]
)
_NOT_IN_NAMES = re.compile(r"[^\w.@:+-]+")
_MAX_NAME_CHARACTERS = 64


class NameOwner(msgspec.Struct):
    """Whose a name is. `kind` is what its keys are."""

    kind: PrincipalKind
    keys: set[str]


class By(msgspec.Struct, frozen=True):
    """Who wrote a text. `verified`: nobody else could have written under this name."""

    kind: PrincipalKind
    name: str
    verified: bool


def are_alike(name: str, other: str) -> bool:
    """Could a reader take one name for the other?"""
    return name.casefold() == other.casefold() or looks_like(name, other)


def find_alike(name: str, names: Iterable[str]) -> str | None:
    """The same name, else one that a reader could take for it."""
    known = list(names)
    return name if name in known else next((other for other in known if are_alike(name, other)), None)


def require_unreserved(name: str) -> None:
    if find_alike(name, RESERVED_NAMES) is not None:
        raise errors.Forbidden(
            f"The name '{name}' is reserved: readers would take its bearer for the server or its operator.",
            hint="Choose another name.",
        )


def name_key_holder(name: str) -> str:
    """The agent name that is made of the name of a key; empty if nothing of it can be used."""
    return _NOT_IN_NAMES.sub("-", name).strip("-.@:+")[:_MAX_NAME_CHARACTERS]


async def load_name_owners(tx: Tx, project: str, now: int) -> dict[str, NameOwner]:
    """The names of a project that belong to a key or to a person who is signed in."""
    rows = await tx.all(
        "select id, name, agent, role, person, projects from api_key"
        " where revoked_at is null and (expires_at is null or expires_at > $1)"
        " union all select key_id, '', agent, 'owner', 1, $3 from browser_session"
        " where project = $2 and kind = 'session' and key_id = 'operator' and expires_at > $1",
        now,
        access.SHARED,
        '["*"]',
    )
    allowed = {project, access.ALL_PROJECTS}
    owners: dict[str, NameOwner] = {}
    for row in rows:
        kind = choose_key_kind(row["role"], row["agent"], is_persons_key=bool(row["person"]))
        name = row["agent"] or (name_key_holder(row["name"]) if kind == "person" else "")
        if name and allowed & set(msgspec.json.decode(row["projects"], type=list[str])):
            owners.setdefault(
                name, NameOwner("operator" if row["id"] == "operator" else kind, set())
            ).keys.add(row["id"])
    return owners


def describe_author(owners: Mapping[str, NameOwner], name: str) -> By:
    owner = owners.get(name)
    return By(owner.kind, name, True) if owner else By("agent", name, False)


def is_taken(owners: Mapping[str, NameOwner], name: str, caller: Caller) -> bool:
    """Does the name, or one like it, belong to another key or person than this caller?"""
    if caller.operator or caller.agent == name:
        return False
    others = {
        other: owner for other, owner in owners.items() if caller.key or owner.kind == "operator"
    }  # while keys are off nobody can show one
    return any(are_alike(name, other) and caller.key not in owner.keys for other, owner in others.items())


async def find_agent_spelling(tx: Tx, project: str, name: str) -> str:
    """The name in the spelling of the project's agent that has it; a name that only looks like another one is refused."""
    rows = await tx.all("select name from agent where project = $1 order by name limit 1000", project)
    other = find_alike(name, [row["name"] for row in rows])
    if other is None or other.casefold() == name.casefold():
        return other or name
    raise errors.Conflict(
        f"The agent name '{name}' looks the same as '{other}', which another agent has.",
        hint=f"Use the name '{other}' if you are that agent; else choose a name that looks different.",
    )


def is_owned_by_other_key(row: Row | None, caller: Caller) -> bool:
    """Is an agent of the roster that of another key than this caller's?"""
    if row is None or not (caller.key and row["key_id"]):
        return False
    return bool(row["key_id"] != caller.key and caller.agent != row["name"])
