"""What every agent's file says about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from commonplace.client.install.machine import Machine
from commonplace.client.install.wishes import Append, Wish
from commonplace.client.reach import Server

Scope = Literal["user", "project"]

ENTRY = "commonplace"
KEY_VARIABLE = "COMMONPLACE_KEY"


@dataclass(frozen=True, slots=True)
class Agent:
    name: str
    title: str
    found: Callable[[Machine], bool]
    connection: Callable[[Machine, Server, Scope], Sequence[Wish]]
    """What makes it speak to the server. A project's files are committed, so they name a variable for the key."""
    hooks: Callable[[Machine, bool], Sequence[Wish]]
    """What makes it run our hooks; the second argument asks for those on a prompt too."""
    projects: bool = True
    """It reads servers from a project's files too."""
    note: str = ""
    """What its user has to do, since no program can."""


@dataclass(frozen=True, slots=True)
class On:
    """An event of an agent that our hooks hear."""

    name: str
    matcher: str = ""
    seconds: int = 10


def bearer(server: Server, scope: Scope, reference: str) -> dict[str, str]:
    """The header that carries the key; none where the server asks for none."""
    if not server.key:
        return {}
    return {"Authorization": f"Bearer {reference if scope == 'project' else server.key}"}


def with_headers(entry: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    return dict(entry) | ({"headers": dict(headers)} if headers else {})


def groups(path: Path, events: Sequence[On], handler: Mapping[str, Any], unit: int = 1) -> list[Wish]:
    """Hooks in Claude's shape: a group with a matcher for each event. `unit`: parts of a second in a timeout."""
    wishes: list[Wish] = []
    for event in events:
        matcher = {"matcher": event.matcher} if event.matcher else {}
        run = {"type": "command", **handler, "timeout": event.seconds * unit}
        wishes.append(Append(path, ("hooks", event.name), matcher | {"hooks": [run]}))
    return wishes
