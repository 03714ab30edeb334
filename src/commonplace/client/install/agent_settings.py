"""What an agent's `settings.py` declares: whether it is on this machine, and the edits that connect it and its hooks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import AppendElement, SettingEdit
from commonplace.client.link.remote import RemoteServer

Scope = Literal["user", "project"]

ENTRY = "commonplace"
KEY_VARIABLE = "COMMONPLACE_KEY"


@dataclass(frozen=True, slots=True)
class AgentSettings:
    is_installed: Callable[[Machine], bool]
    connection_edits: Callable[[Machine, RemoteServer, Scope], Sequence[SettingEdit]]
    """What connects it to the server. A project's files are committed, so they name a variable instead of the key."""
    hook_edits: Callable[[Machine, bool], Sequence[SettingEdit]] = lambda _machine, _prompts: ()
    """What makes it run our hooks. The second argument asks for hooks on prompts too."""
    hook_events: tuple[str, ...] = ()
    """The events that these hooks run at."""
    has_project_scope: bool = True
    """Whether it also reads servers from a project's files."""
    note: str = ""
    """What the user must do after `install`, because it cannot be automated."""
    status_line_edits: Callable[[Machine], Sequence[SettingEdit]] = lambda _machine: ()
    """What makes it show our status line, unless it shows another."""


@dataclass(frozen=True, slots=True)
class HookTrigger:
    """An event of an agent at which our hook runs."""

    name: str
    matcher: str = ""
    timeout_seconds: int = 10


def authorization_header(server: RemoteServer, scope: Scope, reference: str) -> dict[str, str]:
    """The header with the key, or with `reference` in a project's files; empty if there is no key."""
    if not server.key:
        return {}
    return {"Authorization": f"Bearer {reference if scope == 'project' else server.key}"}


def add_headers(entry: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    return dict(entry) | ({"headers": dict(headers)} if headers else {})


def hook_group_edits(
    path: Path, events: Sequence[HookTrigger], handler: Mapping[str, Any], units_per_second: int = 1
) -> list[SettingEdit]:
    """Hooks in Claude's format: one group with a matcher per event."""
    edits: list[SettingEdit] = []
    for event in events:
        matcher = {"matcher": event.matcher} if event.matcher else {}
        command = {"type": "command", **handler, "timeout": event.timeout_seconds * units_per_second}
        edits.append(AppendElement(path, ("hooks", event.name), matcher | {"hooks": [command]}))
    return edits
