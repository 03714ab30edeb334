"""Where Codex keeps transcripts: $CODEX_HOME/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl, older ones as .zst or in
archived_sessions.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.agents import AGENTS
from commonplace.client.link.transcript import AgentTranscripts, Transcript, read_first_objects

_TOOL = AGENTS["codex"].transcript_tool
_FOLDER_NAME = ".codex"
_ROLLOUT = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?P<id>.+)")


def _codex_home() -> Path:
    return Path(os.environ.get("CODEX_HOME") or "~/.codex").expanduser()


def _list_transcripts() -> Iterator[Transcript]:
    """Every rollout once; a plain file is preferred to a compressed one of the same session."""
    names = _read_thread_names()
    chosen: dict[str, Path] = {}
    for folder in ("archived_sessions", "sessions"):
        for pattern in ("**/rollout-*.jsonl.zst", "**/rollout-*.jsonl"):
            for path in sorted((_codex_home() / folder).glob(pattern)):
                chosen[_session_id(path)] = _prefer_plain(chosen.get(_session_id(path)), path)
    for session, path in sorted(chosen.items()):
        yield Transcript(_TOOL, session, path, name=names.get(session.split("_")[0], ""))


def _transcript_at(path: Path) -> Transcript:
    plain = path.with_suffix("") if path.suffix == ".zst" else path
    packed = plain.with_name(plain.name + ".zst")
    return Transcript(_TOOL, _session_id(plain), plain if plain.exists() or not packed.exists() else packed)


def _find_work_folder(path: Path, _known: Iterable[str]) -> str:
    """The first `cwd`: a forked rollout repeats the head of its origin after its own."""
    for line in read_first_objects(path):
        payload = line.get("payload")
        if isinstance(payload, dict) and isinstance(cwd := payload.get("cwd"), str) and cwd:
            return cwd
    return ""


def _name_project(_path: Path) -> str:
    return _TOOL


def _prefer_plain(before: Path | None, path: Path) -> Path:
    return before if before and before.suffix != ".zst" and path.suffix == ".zst" else path


def _session_id(path: Path) -> str:
    stem = path.name.removesuffix(".zst").removesuffix(".jsonl")
    rollout = _ROLLOUT.fullmatch(stem)
    return rollout["id"] if rollout else stem


def _read_thread_names() -> dict[str, str]:
    """The names that people gave to threads; the last entry of an id counts."""
    names: dict[str, str] = {}
    with contextlib.suppress(OSError), (_codex_home() / "session_index.jsonl").open("rb") as lines:
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                names[str(entry["id"])] = str(entry["thread_name"])
    return names


TRANSCRIPTS = AgentTranscripts(
    _codex_home,
    _FOLDER_NAME,
    _list_transcripts,
    _transcript_at,
    _find_work_folder,
    _name_project,
    "`sessions` and `archived_sessions` in `~/.codex` (`CODEX_HOME`): `.jsonl`, else `.jsonl.zst`",
    "the thread's id",
)
