"""The agent programs that Commonplace works with: one line in `AGENTS` or `ARCHIVED_PROGRAMS` and one folder each.

An agent's folder has `settings.py` (what `connect` and `install` write), `hooks.py` (what its hooks send and read),
`transcripts.py` (where its transcripts are) and `transcript_format.py` (how they are parsed). The docstring of the
folder's `__init__.py` lists the agent's quirks; `make docs` prints it in docs/guides/agents.md. A part is imported only
when it is used: a hook runs beside every edit and must start fast. An archived program has only the last two parts.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.client.companion.hook_event import AgentHooks
    from commonplace.client.install.agent_settings import AgentSettings
    from commonplace.client.link.transcript import AgentTranscripts
    from commonplace.transcripts.format import TranscriptFormat


class AgentProgram(NamedTuple):
    """`name` is the word on the command line and the folder's name; `title` is its usual name."""

    name: str
    title: str
    has_hooks: bool = True
    transcript_tool: str = ""
    """The tool's name in workspaces and archives; empty if only hooks say where its transcripts are."""


AGENTS = {
    program.name: program
    for program in (
        AgentProgram("claude", "Claude Code", transcript_tool="claude-code"),
        AgentProgram("codex", "Codex", transcript_tool="codex"),
        AgentProgram("gemini", "Gemini CLI", transcript_tool="gemini-cli"),
        AgentProgram("cursor", "Cursor", transcript_tool="cursor"),
        AgentProgram("vscode", "VS Code"),
        AgentProgram("windsurf", "Windsurf"),
        AgentProgram("opencode", "opencode", transcript_tool="opencode"),
        AgentProgram("copilot", "Copilot CLI", transcript_tool="copilot-cli"),
    )
}
ARCHIVED_PROGRAMS = {
    program.name: program
    for program in (
        AgentProgram("qwen", "Qwen Code", has_hooks=False, transcript_tool="qwen-code"),
        AgentProgram("goose", "Goose", has_hooks=False, transcript_tool="goose"),
        AgentProgram("pi", "Pi", has_hooks=False, transcript_tool="pi"),
    )
}
"""Programs whose transcripts are read, but which `connect` and `install` do not set up."""
PROGRAMS = AGENTS | ARCHIVED_PROGRAMS
AGENTS_WITH_HOOKS = tuple(program.name for program in AGENTS.values() if program.has_hooks)
AGENTS_WITH_TRANSCRIPTS = tuple(program.name for program in PROGRAMS.values() if program.transcript_tool)


def load_settings(agent: str) -> "AgentSettings":
    settings: AgentSettings = _load_part(agent, "settings").SETTINGS
    return settings


def load_hooks(agent: str) -> "AgentHooks":
    hooks: AgentHooks = _load_part(agent, "hooks").HOOKS
    return hooks


def load_transcripts(agent: str) -> "AgentTranscripts":
    transcripts: AgentTranscripts = _load_part(agent, "transcripts").TRANSCRIPTS
    return transcripts


def load_transcript_formats() -> "Iterator[TranscriptFormat]":
    for agent in AGENTS_WITH_TRANSCRIPTS:
        yield _load_part(agent, "transcript_format").FORMAT


def load_quirks(agent: str) -> str:
    return _load_part(agent, "").__doc__ or ""


def _load_part(agent: str, part: str) -> Any:
    # __import__: importing importlib would cost every hook a millisecond.
    return __import__(f"{__name__}.{agent}.{part}".rstrip("."), fromlist=["part"])
