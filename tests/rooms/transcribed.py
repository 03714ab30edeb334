"""Transcripts of Claude Code as they are uploaded: a few lines that say what a test is about."""

import json
from typing import Any

from archived import Sync


class Script:
    """A session, line by line."""

    def __init__(self, minute: int = 0, day: str = "2026-08-20") -> None:
        self.lines: list[bytes] = []
        self._minute, self._day, self._calls = minute, day, 0

    def _line(self, kind: str, content: Any, **more: Any) -> None:
        second = len(self.lines)
        at = f"{self._day}T10:{self._minute + second // 60:02d}:{second % 60:02d}.000Z"
        message = {"role": kind, "content": content} | more
        self.lines.append(
            json.dumps({"type": kind, "timestamp": at, "message": message, "cwd": "/home/ann/shop"}).encode()
        )

    def user(self, text: str) -> "Script":
        self._line("user", text)
        return self

    def assistant(self, text: str) -> "Script":
        self._line(
            "assistant", [{"type": "text", "text": text}], id=f"m{len(self.lines)}", model="claude-opus-4-6"
        )
        return self

    def ran(self, command: str, output: str = "ok", *, failed: bool = False) -> "Script":
        return self._called("Bash", {"command": command}, output, failed=failed)

    def used(self, tool: str, path: str) -> "Script":
        return self._called(tool, {"file_path": path}, "ok")

    def _called(self, tool: str, given: dict[str, str], output: str, *, failed: bool = False) -> "Script":
        self._calls += 1
        call = {"type": "tool_use", "id": f"t{self._calls}", "name": tool, "input": given}
        self._line("assistant", [call], id=f"m{len(self.lines)}")
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{self._calls}",
            "content": output,
            "is_error": failed,
        }
        self._line("user", [result])
        return self

    @property
    def content(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)


async def uploaded(sync: Sync, session_id: str, script: Script) -> None:
    await sync.up(session_id, script.content)


MISSING = "Exit code 1\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'"


def fixed() -> Script:
    """A session that meets an error and overcomes it."""
    return (
        Script()
        .user("Start the importer")
        .ran("python importer.py", MISSING, failed=True)
        .assistant("PyYAML is missing from the virtual environment.")
        .ran("pip install pyyaml")
        .ran("python importer.py", "imported 7 rows")
        .assistant("The importer runs now.")
    )


def unsolved(minute: int) -> Script:
    """A session that meets the same error and ends."""
    return (
        Script(minute)
        .user("Start")
        .ran("python importer.py", "ModuleNotFoundError: No module named 'yaml'", failed=True)
    )
