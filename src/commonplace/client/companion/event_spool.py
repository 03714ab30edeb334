"""Every hook event as the agent program sent it, in COMMONPLACE_HOME/events, for the journal of the session.

One file for each session, one line for each event: {"at": SECONDS, "tool": AGENT, "event": {...}}. A line is on disk
before its event is answered. Who reads a file takes it away with `take_events`; what nobody reads is bounded.
"""

import json
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commonplace.client.companion.caller import unique_suffix
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


def list_spooled_sessions() -> list[Path]:
    """The files of all sessions with events, oldest first."""
    return sorted(_events_folder().glob("*.jsonl"), key=lambda path: path.stat().st_mtime)


def take_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a session's file, which is deleted after the last one; later events start a new file."""
    taken = path.with_name(f"{path.stem}.{unique_suffix()}")
    path.replace(taken)
    with taken.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue
    taken.unlink()


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
