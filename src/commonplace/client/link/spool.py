"""The spool of transcripts that are not sent yet: one small file per job, in COMMONPLACE_HOME/spool.

Hooks call this while their agent waits, so it imports little and writes once. A job names a transcript by its path;
the text stays where the agent keeps it. The uploader is a separate process that outlives the agent.
"""

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.client.link import remote
from commonplace.client.processes import hold_lock, start_detached

TRANSCRIPT = "transcript"
"""The only kind of job: {tool, transcript_path, session_id, cwd?, project?, kept?}, with a path or an id;
`kept` is the path of the spooled text."""


@dataclass(frozen=True, slots=True)
class SpoolJob:
    kind: str
    payload: dict[str, Any]
    files: tuple[Path, ...]
    """Every file with this same job; all are deleted when it is done."""


def spool_folder() -> Path:
    return remote.client_home() / "spool"


def add_job(kind: str, payload: dict[str, Any]) -> None:
    """Add one job, atomically."""
    folder = spool_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    final = folder / f"{time.time_ns():020d}-{os.getpid()}.json"
    temporary = final.with_suffix(".part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as text:  # noqa: PTH123 - of a descriptor
        json.dump({"kind": kind, "payload": payload}, text)
    temporary.replace(final)


def start_uploader() -> None:
    """Send the spool in a separate process that outlives the agent and its terminal."""
    start_detached(["sync", "run", "--spool"], remote.client_home() / "sync.log")


def list_jobs() -> list[SpoolJob]:
    """All jobs, oldest first. Equal jobs are merged; an invalid file is renamed to `.broken`."""
    waiting: dict[str, tuple[dict[str, Any], list[Path]]] = {}
    for path in sorted(spool_folder().glob("*.json")):
        job = _read_job(path)
        if job is not None:
            waiting.setdefault(json.dumps(job, sort_keys=True), (job, []))[1].append(path)
    return [SpoolJob(job["kind"], job["payload"], tuple(files)) for job, files in waiting.values()]


def finish_job(job: SpoolJob) -> None:
    for path in job.files:
        path.unlink(missing_ok=True)
    if (
        isinstance(spooled_text := job.payload.get("kept"), str)
        and Path(spooled_text).parent == spool_folder() / "kept"
    ):
        Path(spooled_text).unlink(missing_ok=True)


def hold_sync_lock() -> contextlib.AbstractContextManager[bool]:
    """Yield whether this process may send, one at a time."""
    return hold_lock(remote.client_home() / "sync.lock")


def _read_job(path: Path) -> dict[str, Any] | None:
    try:
        job = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        job = None
    if isinstance(job, dict) and isinstance(job.get("kind"), str) and isinstance(job.get("payload"), dict):
        return job
    path.replace(path.with_suffix(".broken"))
    return None
