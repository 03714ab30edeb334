"""Where Cursor keeps its agents' transcripts: ~/.cursor/projects/<folder>/agent-transcripts/<id>/<id>.jsonl, sub-agents
below in subagents/. The lines do not say which folder the agent worked in; the name of <folder> does, with every run of
other characters than letters and digits as a hyphen. Other chats are exported from its database (`chats/`).
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.agents import AGENTS
from commonplace.client.agents.cursor.chats import chat_exports
from commonplace.client.link.transcript import AgentTranscripts, Transcript, read_first_objects

_TOOL = AGENTS["cursor"].transcript_tool
_FOLDER_NAME = ".cursor"
_TRANSCRIPTS = "agent-transcripts"
_SUBAGENTS = "subagents"
_NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9]+")


def _cursor_home() -> Path:
    return Path(os.environ.get("CURSOR_CONFIG_DIR") or "~/.cursor").expanduser()


def _list_transcripts() -> Iterator[Transcript]:
    """The transcripts that Cursor writes, and exports of the chats of which it writes none."""
    files = sorted((_cursor_home() / "projects").glob(f"*/{_TRANSCRIPTS}/**/*.jsonl"))
    yield from map(_transcript_at, files)
    yield from map(_transcript_at, chat_exports.export_chats({path.stem for path in files}))


def _transcript_at(path: Path) -> Transcript:
    """A sub-agent's file is in a folder below its parent's. A file elsewhere, which a hook named, may have any name."""
    name = path.name.removesuffix(".zst").removesuffix(".jsonl")
    if path.parent == chat_exports.exports_folder():
        return Transcript(_TOOL, name, path)
    if _TRANSCRIPTS not in path.parts:
        return Transcript(_TOOL, f"{path.parent.name}.{name}", path)
    parent = f"{path.parent.parent.name}." if path.parent.name == _SUBAGENTS else ""
    return Transcript(_TOOL, parent + name, path)


def _find_work_folder(path: Path, known_folders: Iterable[str]) -> str:
    if path.parent == chat_exports.exports_folder():
        folders = (record.get("folder") for record in read_first_objects(path))
        return next((folder for folder in folders if isinstance(folder, str) and folder), "")
    slug = _name_project_folder(path)
    known = next((folder for folder in known_folders if _build_slug(folder) == slug), "")
    return known or _find_folder_by_slug(Path("/"), slug)


def _find_folder_by_slug(folder: Path, slug: str) -> str:
    """The folder on this machine whose path has this slug; a hyphen may stand for any character, so each is tried."""
    try:
        children = sorted(child for child in folder.iterdir() if _is_start_of(child.name, slug))
    except OSError:
        return ""
    for child in children:
        rest = slug[len(_build_slug(child.name)) :].removeprefix("-")
        if child.is_dir() and (found := _find_folder_by_slug(child, rest) if rest else str(child)):
            return found
    return ""


def _is_start_of(name: str, slug: str) -> bool:
    start = _build_slug(name)
    return bool(start) and (slug == start or slug.startswith(f"{start}-"))


def _build_slug(path: str) -> str:
    return _NOT_IN_SLUG.sub("-", path).strip("-")


def _name_project_folder(path: Path) -> str:
    parts = path.parts
    return parts[parts.index(_TRANSCRIPTS) - 1] if _TRANSCRIPTS in parts[1:] else ""


def _name_project(path: Path) -> str:
    return _name_project_folder(path) or _TOOL


TRANSCRIPTS = AgentTranscripts(
    _cursor_home,
    _FOLDER_NAME,
    _list_transcripts,
    _transcript_at,
    _find_work_folder,
    _name_project,
    "`~/.cursor/projects/*/agent-transcripts/**/*.jsonl` (`CURSOR_CONFIG_DIR`); other chats of `state.vscdb`, exported to"
    " `transcripts/cursor` in `COMMONPLACE_HOME`",
    "the session's or chat's id, a sub-agent's after it",
)
