"""The tables of the guides that list agent programs, generated from the registry by `make docs`.

A guide marks the place of a table with `<!-- agents: NAME -->` and `<!-- agents: end -->`. What the tables say about
settings comes from the edits that `connect` and `install` would make on an empty machine.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from commonplace.client.agents import (
    AGENTS,
    AGENTS_WITH_HOOKS,
    AGENTS_WITH_TRANSCRIPTS,
    PROGRAMS,
    load_hooks,
    load_quirks,
    load_settings,
    load_transcripts,
)
from commonplace.client.install.agent_settings import KEY_VARIABLE, Scope
from commonplace.client.install.machine import Machine
from commonplace.client.link.remote import RemoteServer

GUIDES = ("docs/guides/agents.md", "docs/guides/hooks.md", "docs/guides/sync.md")
_MARKED = re.compile(r"(<!-- agents: (\w+) -->\n).*?(<!-- agents: end -->)", re.DOTALL)
_MACHINE = Machine(Path("~"), Path(), ("commonplace",), "linux", {})
_SERVER = RemoteServer("http://127.0.0.1:8080", "KEY")
_KIND_TITLES = {
    "session_start": "start",
    "prompt": "prompt",
    "before_edit": "before an edit",
    "after_edit": "after an edit",
}


def fill_tables(text: str) -> str:
    """A guide with its marked tables written anew."""
    return _MARKED.sub(lambda marked: marked[1] + "\n".join(_TABLES[marked[2]]()) + "\n" + marked[3], text)


def _names() -> Iterator[str]:
    yield f"Agents: {', '.join(f'`{name}`' for name in AGENTS)}."


def _connection_table() -> Iterator[str]:
    yield "| agent | user settings | project settings (`--project-scope`) | key in project settings |"
    yield "|---|---|---|---|"
    for name, program in AGENTS.items():
        project, key = "none", ""
        if load_settings(name).has_project_scope:
            project, key = f"`{_connection(name, 'project').path}`", f"`{_key_reference(name)}`"
        yield f"| `{name}` ({program.title}) | `{_connection(name, 'user').path}` | {project} | {key} |"


def _connection(agent: str, scope: Scope) -> Any:
    return load_settings(agent).connection_edits(_MACHINE, _SERVER, scope)[0]


def _key_reference(agent: str) -> str:
    """How the entry in a project's settings refers to the key."""
    entry = _connection(agent, "project").value
    if "headers" in entry:
        return str(entry["headers"]["Authorization"].removeprefix("Bearer "))
    return next(f"{field} = {value}" for field, value in entry.items() if value == KEY_VARIABLE)


def _hook_table() -> Iterator[str]:
    yield "| agent | hooks in | events |"
    yield "|---|---|---|"
    for name in AGENTS_WITH_HOOKS:
        settings = load_settings(name)
        path = settings.hook_edits(_MACHINE, False)[0].path
        yield f"| `{name}` | `{path}` | {', '.join(settings.hook_events)} |"


def _context_table() -> Iterator[str]:
    yield "| agent | context at | an edit is denied by |"
    yield "|---|---|---|"
    for name in AGENTS_WITH_HOOKS:
        hooks = load_hooks(name)
        kinds = [title for kind, title in _KIND_TITLES.items() if kind in hooks.context_kinds]
        yield f"| {AGENTS[name].title} | {', '.join(kinds) or 'a denial only'} | {hooks.denied_by} |"


def _transcript_table() -> Iterator[str]:
    yield "| agent | files | archive name |"
    yield "|---|---|---|"
    for name in AGENTS_WITH_TRANSCRIPTS:
        transcripts = load_transcripts(name)
        yield f"| {PROGRAMS[name].title} (`{PROGRAMS[name].transcript_tool}`) | {transcripts.files} | {transcripts.archive_names} |"
    others = [program.title for name, program in AGENTS.items() if name not in AGENTS_WITH_TRANSCRIPTS]
    yield f"| {', '.join(others)} | the files that their hooks name | the session |"


def _quirks() -> Iterator[str]:
    for name in PROGRAMS:
        title, _, notes = inspect.cleandoc(load_quirks(name)).partition("\n\n")
        yield f"**{title.removesuffix('.')}**\n\n{notes}\n"


_TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "names": _names,
    "connection": _connection_table,
    "hooks": _hook_table,
    "context": _context_table,
    "transcripts": _transcript_table,
    "quirks": _quirks,
}
