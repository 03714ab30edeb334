"""The principal behind a request: what kind of being it is, decided from its key and from nothing else.

A transport, a header or a cookie changes nothing: whoever signs in to the page with the key of an agent stays an agent.
The operator is known by the token of the server's data folder, or by a one-time link that was made with it. Without keys
every other program of the machine is an agent. What a principal may do is decided in `access.py`.
"""

from dataclasses import dataclass
from typing import Literal

PrincipalKind = Literal["person", "agent", "program", "operator"]
"""`program`: it uploads or reads for others and has no will of its own, such as the key of a build server."""

_PEOPLES_ROLES = frozenset({"admin", "owner"})


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a call. `name` is empty where only its session has one."""

    kind: PrincipalKind
    key: str
    name: str


def choose_key_kind(role: str, agent: str | None, *, is_persons_key: bool) -> PrincipalKind:
    """What a key was made for. Keys with the role admin or owner are people's, unless they are bound to an agent."""
    if is_persons_key or (role in _PEOPLES_ROLES and not agent):
        return "person"
    return "program" if role == "sync" else "agent"
