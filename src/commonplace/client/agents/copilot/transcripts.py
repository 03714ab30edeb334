"""Where Copilot CLI keeps transcripts: $COPILOT_HOME/session-state/<session>/events.jsonl, sub-agents included."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.agents import AGENTS
from commonplace.client.link.transcript import AgentTranscripts, Transcript, read_first_objects

_TOOL = AGENTS["copilot"].transcript_tool
_FOLDER_NAME = ".copilot"
_FILE_NAME = "events.jsonl"
_NAMED_BY_USER = "user_named: true"
_NAME_FIELD = "name: "


def _copilot_home() -> Path:
    return Path(os.environ.get("COPILOT_HOME") or "~/.copilot").expanduser()


def _list_transcripts() -> Iterator[Transcript]:
    paths = (_copilot_home() / "session-state").glob(f"*/{_FILE_NAME}")
    yield from map(_transcript_at, sorted(paths))


def _transcript_at(path: Path) -> Transcript:
    return Transcript(_TOOL, path.parent.name, path, name=_read_name(path.parent))


def _read_name(session_folder: Path) -> str:
    """The name that a person gave to the session; otherwise it is the first prompt."""
    lines: list[str] = []
    with contextlib.suppress(OSError, UnicodeDecodeError):
        lines = (session_folder / "workspace.yaml").read_text(encoding="utf-8").splitlines()
    names = [line.removeprefix(_NAME_FIELD).strip() for line in lines if line.startswith(_NAME_FIELD)]
    return names[0] if names and _NAMED_BY_USER in lines else ""


def _find_work_folder(path: Path, _known: Iterable[str]) -> str:
    for record in read_first_objects(path):
        data = record.get("data")
        context = data.get("context") if isinstance(data, dict) else None
        if isinstance(context, dict) and isinstance(cwd := context.get("cwd"), str) and cwd:
            return cwd
    return ""


def _name_project(_path: Path) -> str:
    return _TOOL


TRANSCRIPTS = AgentTranscripts(
    _copilot_home,
    _FOLDER_NAME,
    _list_transcripts,
    _transcript_at,
    _find_work_folder,
    _name_project,
    "`session-state/*/events.jsonl` in `~/.copilot` (`COPILOT_HOME`)",
    "the session's id",
)
