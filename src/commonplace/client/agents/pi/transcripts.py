"""Where Pi keeps transcripts: ~/.pi/agent/sessions/<folder>/<time>_<session>.jsonl, and Oh My Pi in ~/.omp."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.agents import ARCHIVED_PROGRAMS
from commonplace.client.link.glob_transcripts import find_logged_cwd
from commonplace.client.link.transcript import AgentTranscripts, Transcript

_TOOL = ARCHIVED_PROGRAMS["pi"].transcript_tool


def _pi_home() -> Path:
    return Path(os.environ.get("PI_CODING_AGENT_DIR") or "~/.pi/agent").expanduser()


def _list_transcripts() -> Iterator[Transcript]:
    for home in (_pi_home(), Path("~/.omp/agent").expanduser()):
        yield from map(_transcript_at, sorted((home / "sessions").glob("*/*.jsonl")))


def _transcript_at(path: Path) -> Transcript:
    return Transcript(_TOOL, path.stem.rpartition("_")[2], path)


def _find_work_folder(path: Path, _known: Iterable[str]) -> str:
    return find_logged_cwd(path)


def _name_project(_path: Path) -> str:
    return _TOOL


TRANSCRIPTS = AgentTranscripts(
    _pi_home,
    ".pi",
    _list_transcripts,
    _transcript_at,
    _find_work_folder,
    _name_project,
    "`sessions/*/*.jsonl` in `~/.pi/agent` (`PI_CODING_AGENT_DIR`) and `~/.omp/agent`",
    "the session's id",
)
