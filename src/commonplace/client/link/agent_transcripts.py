"""The transcripts on this machine, of every agent in the registry and of files that config.toml names.

Where one agent keeps its transcripts is in `client/agents/<agent>/transcripts.py`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.agents import AGENTS_WITH_TRANSCRIPTS, PROGRAMS, load_transcripts
from commonplace.client.link import glob_transcripts
from commonplace.client.link.sync_settings import SyncSettings
from commonplace.client.link.transcript import AgentTranscripts, Transcript

NOWHERE = Path()
_TOOL_OF_AGENT = {name: PROGRAMS[name].transcript_tool for name in AGENTS_WITH_TRANSCRIPTS}


def load_all_agent_transcripts() -> dict[str, AgentTranscripts]:
    """The transcript part of every agent that has one, by tool name."""
    return {tool: load_transcripts(agent) for agent, tool in _TOOL_OF_AGENT.items()}


def find_agent_transcripts(tool: str) -> AgentTranscripts | None:
    return load_all_agent_transcripts().get(canonical_tool(tool))


def list_all_transcripts(configured: SyncSettings) -> Iterator[Transcript]:
    """Every transcript on this machine, of the agents that `tools` in [sync] allows."""
    for tool, agent in load_all_agent_transcripts().items():
        if is_wanted(tool, configured):
            yield from agent.list_transcripts()
    yield from glob_transcripts.list_glob_transcripts(configured.globs)


def is_wanted(tool: str, configured: SyncSettings) -> bool:
    if configured.tools is None:
        return True
    wanted = [*map(canonical_tool, configured.tools), *(entry.tool for entry in configured.globs)]
    return tool in wanted


def build_transcript(tool: str, path: Path, session_id: str, configured: SyncSettings) -> Transcript:
    """The transcript at a path that an agent named; `session_id` is used where the path does not contain it."""
    if agent := load_all_agent_transcripts().get(tool):
        return agent.transcript_at(path)
    listed = glob_transcripts.list_glob_transcripts(entry for entry in configured.globs if entry.tool == tool)
    own_id = session_id or path.name.removesuffix(".zst").removesuffix(".jsonl")
    return next(
        (transcript for transcript in listed if transcript.path == path), Transcript(tool, own_id, path)
    )


def find_by_session(tool: str, session_id: str) -> Transcript:
    """The transcript of a session whose path is unknown; its path is NOWHERE if there is none."""
    agent = load_all_agent_transcripts().get(tool)
    listed = agent.list_transcripts() if agent else ()
    nowhere = Transcript(tool, session_id, NOWHERE)
    return next((transcript for transcript in listed if transcript.session_id == session_id), nowhere)


def find_tool_work_folder(tool: str, path: Path, known_folders: Iterable[str]) -> str:
    agent = find_agent_transcripts(tool)
    return agent.find_work_folder(path, known_folders) if agent else glob_transcripts.find_logged_cwd(path)


def name_tool_project(tool: str, path: Path) -> str:
    """A name for the project of a transcript that has no folder."""
    agent = find_agent_transcripts(tool)
    return agent.name_project(path) if agent else glob_transcripts.project_of_parent_folder(path)


def canonical_tool(tool: str) -> str:
    """The tool's name for an agent's: `claude-code` for `claude`."""
    return _TOOL_OF_AGENT.get(tool, tool)


def tool_of_path(path: Path) -> str:
    """Which agent's transcript a file is, by its folder; empty if unknown."""
    agents = load_all_agent_transcripts()
    for tool, agent in agents.items():
        if path.is_relative_to(agent.home()):
            return tool
    return next((tool for tool, agent in agents.items() if agent.folder_name in path.parts), "")
