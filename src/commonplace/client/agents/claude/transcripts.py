"""Where Claude Code keeps transcripts: ~/.claude/projects/<slug of the folder>/<session>.jsonl, sub-agents below it."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.agents import AGENTS
from commonplace.client.link.transcript import AgentTranscripts, Transcript, read_first_objects

_TOOL = AGENTS["claude"].transcript_tool
_FOLDER_NAME = ".claude"
_MAX_SLUG_CHARACTERS = 200
_MAX_PROJECT_CHARACTERS = 60
_NOT_SLUG = re.compile(r"[^A-Za-z0-9]")
_SUBAGENTS = "subagents"


def _claude_home() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()


def _list_transcripts() -> Iterator[Transcript]:
    for path in sorted((_claude_home() / "projects").glob("*/*.jsonl")):
        yield _transcript_at(path)
    for path in sorted((_claude_home() / "projects").glob(f"*/*/{_SUBAGENTS}/**/*.jsonl")):
        yield _transcript_at(path)


def _transcript_at(path: Path) -> Transcript:
    """A sub-agent's archive is named after its session, so that both are listed together."""
    if _SUBAGENTS in path.parts[-4:]:
        index = len(path.parts) - 1 - path.parts[::-1].index(_SUBAGENTS)
        below = ".".join((*path.parts[index + 1 : -1], path.stem))
        return Transcript(_TOOL, f"{path.parts[index - 1]}.{below}", path)
    if path.stem.startswith("agent-") and (parent := _first_value(path, "sessionId")):
        return Transcript(_TOOL, f"{parent}.{path.stem}", path)
    return Transcript(_TOOL, path.stem, path)


def _find_work_folder(path: Path, _known: Iterable[str]) -> str:
    """The `cwd` in its lines, or in those of other transcripts in the folder."""
    if cwd := _first_value(path, "cwd"):
        return cwd
    slug = _slug_folder(path)
    neighbours = sorted(slug.glob("*.jsonl"))[:20]
    return next((cwd for neighbour in neighbours if (cwd := _first_value(neighbour, "cwd"))), "")


def _name_project(path: Path) -> str:
    """The end of the slug, for transcripts without a `cwd`."""
    return _slug_folder(path).name[-_MAX_PROJECT_CHARACTERS:].strip("-") or _TOOL


def _memory_folder(cwd: Path) -> Path:
    """The folder of Claude's own notes on a project. Long slugs end in a hash that differs between its programs."""
    named_slug = (
        os.environ.get("CLAUDE_CODE_PROJECT_DIR_NAME") if os.environ.get("CLAUDE_CONFIG_DIR") else None
    )
    slug = named_slug or project_slug(cwd)
    projects = _claude_home() / "projects"
    matches = (
        sorted(projects.glob(f"{slug}-*")) if len(slug) == _MAX_SLUG_CHARACTERS and not named_slug else []
    )
    return (matches[0] if matches else projects / slug) / "memory"


def project_slug(cwd: Path) -> str:
    return _NOT_SLUG.sub("-", str(cwd))[:_MAX_SLUG_CHARACTERS]


def _slug_folder(path: Path) -> Path:
    projects = _claude_home() / "projects"
    inside = path.relative_to(projects).parts[0] if path.is_relative_to(projects) else ""
    return projects / inside if inside else path.parent


def _first_value(path: Path, key: str) -> str:
    return next(
        (value for line in read_first_objects(path) if isinstance(value := line.get(key), str) and value), ""
    )


TRANSCRIPTS = AgentTranscripts(
    _claude_home,
    _FOLDER_NAME,
    _list_transcripts,
    _transcript_at,
    _find_work_folder,
    _name_project,
    "`~/.claude/projects/*/*.jsonl` (`CLAUDE_CONFIG_DIR`), and `subagents/**` below them",
    "the session; `<session>.agent-<id>` for a sub-agent",
    _memory_folder,
)
