"""`commonplace sync hook`: spool the transcript that an agent's hook names, and return at once.

The agent waits for this program, so it imports little and never fails; the next run finds what it missed.
"""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from commonplace.client.link import spool

_MAX_INPUT_BYTES = 16 * 1024 * 1024


def main(words: list[str]) -> int:
    """`words` is the command line: sync hook [--tool T] [JSON]; without JSON, standard input is read."""
    rest = words[2:]
    tool = rest[rest.index("--tool") + 1] if "--tool" in rest[:-1] else ""
    inline = next((word for word in rest if word.startswith("{")), None)
    text = inline.encode() if inline is not None else sys.stdin.buffer.read(_MAX_INPUT_BYTES)
    with contextlib.suppress(ValueError, RecursionError, OSError):
        if isinstance(event := json.loads(text), dict) and spool_event(event, tool):
            spool.start_uploader()
    return 0


def spool_event(event: dict[str, Any], tool: str = "") -> bool:
    """Spool every transcript that the event names; return whether there was one."""
    shared_fields = {"tool": tool, "cwd": event.get("cwd"), "project": os.environ.get("COMMONPLACE_PROJECT")}
    session_id = _text_field(event, "thread-id") or _text_field(event, "session_id")
    session_fields = {"session_id": session_id} if session_id else {}
    path_fields = {"transcript_path": session_fields, "agent_transcript_path": {}}
    payloads = [
        {"transcript_path": str(Path(path).expanduser())} | session
        for name, session in path_fields.items()
        if (path := _text_field(event, name))
    ]
    if not payloads and tool and session_fields:
        payloads = [session_fields]
    for payload in payloads:
        spool.add_job(
            spool.TRANSCRIPT, payload | {name: value for name, value in shared_fields.items() if value}
        )
    return bool(payloads)


def _text_field(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
