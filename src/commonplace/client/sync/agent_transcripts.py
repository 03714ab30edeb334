"""Where each agent keeps its transcripts, and which folder each of them is about. One file an agent."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from commonplace.client.agents.claude import transcripts as claude
from commonplace.client.agents.codex import transcripts as codex
from commonplace.client.agents.gemini import transcripts as gemini
from commonplace.client.sync import globs
from commonplace.client.sync.settings import Sync
from commonplace.client.sync.transcript import Transcript

AGENTS: Mapping[str, ModuleType] = {adapter.TOOL: adapter for adapter in (claude, codex, gemini)}
NOWHERE = Path()
_ALSO = {"claude": claude.TOOL, "gemini": gemini.TOOL}


def every(configured: Sync) -> Iterator[Transcript]:
    """Every transcript on this machine; `tools` of [sync] names the agents if not all are wanted."""
    for tool, adapter in AGENTS.items():
        if is_wanted(tool, configured):
            yield from adapter.transcripts()
    yield from globs.transcripts(configured.globs)


def is_wanted(tool: str, configured: Sync) -> bool:
    if configured.tools is None:
        return True
    wanted = [*(named(each) for each in configured.tools), *(each.tool for each in configured.globs)]
    return tool in wanted


def one(tool: str, path: Path, session_id: str, configured: Sync) -> Transcript:
    """The transcript at a path that an agent named; the session's id counts where the path does not tell it."""
    if tool in AGENTS:
        found: Transcript = AGENTS[tool].one(path)
        return found
    listed = globs.transcripts(each for each in configured.globs if each.tool == tool)
    own = session_id or path.name.removesuffix(".zst").removesuffix(".jsonl")
    return next((each for each in listed if each.path == path), Transcript(tool, own, path))


def by_id(tool: str, session_id: str) -> Transcript:
    """The transcript of a session whose agent did not say where it is; its path is NOWHERE if there is none."""
    known = of(tool).transcripts() if tool in AGENTS else ()
    nowhere = Transcript(tool, session_id, NOWHERE)
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
