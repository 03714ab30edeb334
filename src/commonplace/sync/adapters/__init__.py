"""Where each agent keeps its transcripts, and which folder each of them is about. One file an agent."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from commonplace.sync.adapters import claude, codex, gemini, globs
from commonplace.sync.adapters.transcript import Transcript

AGENTS: Mapping[str, ModuleType] = {adapter.TOOL: adapter for adapter in (claude, codex, gemini)}
_ALSO = {"claude": claude.TOOL, "gemini": gemini.TOOL}


def every(configured: Mapping[str, Any]) -> Iterator[Transcript]:
    """Every transcript on this machine; `tools` of [sync] names the agents if not all are wanted."""
    wanted = [named(tool) for tool in configured.get("tools", AGENTS)]
    for tool in wanted:
        if tool in AGENTS:
            yield from AGENTS[tool].transcripts()
    yield from globs.transcripts(configured.get("globs", []))


def one(tool: str, path: Path) -> Transcript:
    """The transcript at a path that an agent named."""
    found: Transcript = of(tool).one(path)
    return found if found.tool else replace(found, tool=tool)


def by_id(tool: str, session_id: str) -> Transcript:
    """The transcript of a session whose agent did not say where it is; its path is empty if it is nowhere."""
    known = of(tool).transcripts() if tool in AGENTS else ()
    nowhere = Transcript(tool, session_id, Path())
    return next((each for each in known if each.session_id == session_id), nowhere)


def of(tool: str) -> ModuleType:
    return AGENTS.get(named(tool), globs)


def named(tool: str) -> str:
    return _ALSO.get(tool, tool)


def tool_of(path: Path) -> str:
    """Whose transcript a file is, by where it lies."""
    for tool, adapter in AGENTS.items():
        if path.is_relative_to(adapter.home()):
            return tool
    return next((tool for tool, adapter in AGENTS.items() if adapter.FOLDER in path.parts), "")
