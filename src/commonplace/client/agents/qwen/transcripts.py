"""Where Qwen Code keeps transcripts: ~/.qwen/projects/<folder>/chats/<session>.jsonl, and its sub-agents beside them in
subagents/<session>/agent-<id>.jsonl.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.agents import ARCHIVED_PROGRAMS
from commonplace.client.link.glob_transcripts import find_logged_cwd
from commonplace.client.link.transcript import AgentTranscripts, Transcript

_TOOL = ARCHIVED_PROGRAMS["qwen"].transcript_tool
_FOLDER_NAME = ".qwen"


def _qwen_home() -> Path:
    named = os.environ.get("QWEN_RUNTIME_DIR") or os.environ.get("QWEN_HOME")
    return Path(named or "~/.qwen").expanduser()


def _list_transcripts() -> Iterator[Transcript]:
    projects = _qwen_home() / "projects"
    paths = (*projects.glob("*/chats/*.jsonl"), *projects.glob("*/subagents/*/*.jsonl"))
    yield from map(_transcript_at, sorted(paths))


def _transcript_at(path: Path) -> Transcript:
    """A sub-agent's file is in a folder with its parent's name."""
    parent = f"{path.parent.name}." if path.parent.name != "chats" else ""
    return Transcript(_TOOL, parent + path.stem, path)


def _find_work_folder(path: Path, _known: Iterable[str]) -> str:
    return find_logged_cwd(path)


def _name_project(_path: Path) -> str:
    return _TOOL


TRANSCRIPTS = AgentTranscripts(
    _qwen_home,
    _FOLDER_NAME,
    _list_transcripts,
    _transcript_at,
    _find_work_folder,
    _name_project,
    "`projects/*/chats/*.jsonl` and `projects/*/subagents/*/*.jsonl` in `~/.qwen` (`QWEN_RUNTIME_DIR`, `QWEN_HOME`)",
    "the session's id, a sub-agent's after it",
)
