"""Every hook event as the agent program sent it, in COMMONPLACE_HOME/events, for the journal of the session.

One file for each session, one line for each event: {"at": SECONDS, "tool": AGENT, "event": {...}}. A line is on disk
before its event is answered. `journal_delivery.py` sends them; what is never sent is bounded.
"""

import contextlib
import json
import os
import time
import zlib
from pathlib import Path
from typing import Any

from commonplace.client.link import remote

_MAX_EVENT_BYTES = 256 * 1024
_MAX_FILE_BYTES = 16 * 1024 * 1024
_RETENTION_DAYS = 14


def spool_event(tool: str, session: str, event: dict[str, Any]) -> None:
    """Append one event; raises OSError where nothing can be written."""
    line = json.dumps({"at": round(time.time(), 3), "tool": tool, "event": event}, ensure_ascii=False)
    if len(line) > _MAX_EVENT_BYTES:  # a whole file that was written, or a long output
        line = json.dumps({"at": round(time.time(), 3), "tool": tool, "event": _shorten(event)})
    path = _event_path(session)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.fstat(descriptor).st_size < _MAX_FILE_BYTES:
            os.write(descriptor, line.encode("utf-8", "replace") + b"\n")
    finally:
        os.close(descriptor)


def has_events(session: str) -> bool:
    """Whether something was spooled since events of the session were sent."""
    return _event_path(session).exists()


def claim_events(session: str) -> list[Path]:
    """The files with events of a session that were not sent yet, oldest first: what is spooled now, and what could not be
    sent before. Whoever has sent one deletes it; its name is the same whenever it is sent."""
    path = _event_path(session)
    with contextlib.suppress(FileNotFoundError):
        path.replace(path.with_name(f"{path.stem}.{time.time_ns()}.unsent"))
    return sorted(path.parent.glob(f"{path.stem}.*.unsent"))


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a file, with their long texts cut; lines that were cut by a crash are skipped."""
    events = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            with contextlib.suppress(ValueError):
                events.append(_shorten(json.loads(line)))
    return events


def delete_old_events() -> None:
    oldest = time.time() - _RETENTION_DAYS * 86_400
    for path in _events_folder().glob("*"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def _shorten(value: Any) -> Any:
    """The event with its long texts cut in the middle."""
    if isinstance(value, dict):
        return {name: _shorten(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_shorten(inner) for inner in value[:100]]
    if isinstance(value, str) and len(value) > 8_000:  # noqa: PLR2004 - enough for a prompt or an edit
        return f"{value[:6_000]}\n[...]\n{value[-2_000:]}"
    return value


def _event_path(session: str) -> Path:
    name = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in session)[:80]
    return _events_folder() / f"{name}-{zlib.crc32(session.encode('utf-8', 'replace')):08x}.jsonl"


def _events_folder() -> Path:
    return remote.client_home() / "events"
