"""Where Gemini CLI keeps transcripts: ~/.gemini/tmp/<hash of the folder>/chats/session-*.jsonl; before April 2026 one
.json document per session.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.agents import AGENTS
from commonplace.client.link.transcript import AgentTranscripts, Transcript

_TOOL = AGENTS["gemini"].transcript_tool
_FOLDER_NAME = ".gemini"


def _gemini_home() -> Path:
    return Path("~/.gemini").expanduser()


def _list_transcripts() -> Iterator[Transcript]:
    chats = (_gemini_home() / "tmp").glob("*/chats/**/*.json*")
    yield from (_transcript_at(path) for path in sorted(chats) if path.suffix in {".jsonl", ".json"})


def _transcript_at(path: Path) -> Transcript:
    """A sub-agent's file is in a folder with its parent's name."""
    parent = f"{path.parent.name}." if path.parent.name != "chats" else ""
    return Transcript(_TOOL, parent + path.stem, path, whole=path.suffix == ".json")


def _find_work_folder(path: Path, known_folders: Iterable[str]) -> str:
    """The folder with this hash: from `.project_root` there, else among the folders that other agents worked in."""
    project_folder = _project_folder(path)
    root_file = project_folder / ".project_root"
    if root_file.is_file():
        return root_file.read_text(encoding="utf-8").strip()
    return next(
        (cwd for cwd in known_folders if hashlib.sha256(cwd.encode()).hexdigest() == project_folder.name), ""
    )


def _name_project(path: Path) -> str:
    return f"gemini-{_project_folder(path).name[:8]}"


def _project_folder(path: Path) -> Path:
    above = [folder for folder in path.parents if folder.name == "chats"]
    return above[-1].parent if above else path.parent


TRANSCRIPTS = AgentTranscripts(
    _gemini_home,
    _FOLDER_NAME,
    _list_transcripts,
    _transcript_at,
    _find_work_folder,
    _name_project,
    "`~/.gemini/tmp/*/chats/**`: `.jsonl`, and older `.json` documents",
    "the file's name",
)
