"""Builds short transcripts of Claude Code for tests."""

import json
from typing import Any

from sync_client import SyncClient


class TranscriptScript:
    """A session, line by line."""

    def __init__(self, minute: int = 0, day: str = "2026-08-20") -> None:
        self.lines: list[bytes] = []
        self._minute, self._day, self._calls = minute, day, 0

    def _add_line(self, kind: str, content: Any, **more: Any) -> None:
        second = len(self.lines)
        at = f"{self._day}T10:{self._minute + second // 60:02d}:{second % 60:02d}.000Z"
        message = {"role": kind, "content": content} | more
        self.lines.append(
            json.dumps({"type": kind, "timestamp": at, "message": message, "cwd": "/home/ann/shop"}).encode()
        )

    def user(self, text: str) -> "TranscriptScript":
        self._add_line("user", text)
        return self

    def assistant(self, text: str) -> "TranscriptScript":
        self._add_line(
            "assistant", [{"type": "text", "text": text}], id=f"m{len(self.lines)}", model="claude-opus-4-6"
        )
        return self

    def run(self, command: str, output: str = "ok", *, failed: bool = False) -> "TranscriptScript":
        return self._call_tool("Bash", {"command": command}, output, failed=failed)

    def use_tool(self, tool: str, path: str) -> "TranscriptScript":
        return self._call_tool(tool, {"file_path": path}, "ok")

    def _call_tool(
        self, tool: str, arguments: dict[str, str], output: str, *, failed: bool = False
    ) -> "TranscriptScript":
        self._calls += 1
        call = {"type": "tool_use", "id": f"t{self._calls}", "name": tool, "input": arguments}
        self._add_line("assistant", [call], id=f"m{len(self.lines)}")
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{self._calls}",
            "content": output,
            "is_error": failed,
        }
        self._add_line("user", [result])
        return self

    @property
    def content(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)


async def upload_script(sync: SyncClient, session_id: str, script: TranscriptScript) -> None:
    await sync.upload(session_id, script.content)


MISSING_MODULE_OUTPUT = (
    "Exit code 1\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'yaml'"
)


def script_with_fixed_error() -> TranscriptScript:
    """A session in which an error occurs and is fixed."""
    return (
        TranscriptScript()
        .user("Start the importer")
        .run("python importer.py", MISSING_MODULE_OUTPUT, failed=True)
        .assistant("PyYAML is missing from the virtual environment.")
        .run("pip install pyyaml")
        .run("python importer.py", "imported 7 rows")
        .assistant("The importer runs now.")
    )


def script_with_open_error(minute: int) -> TranscriptScript:
    """A session that ends with the same error."""
    return (
        TranscriptScript(minute)
        .user("Start")
        .run("python importer.py", "ModuleNotFoundError: No module named 'yaml'", failed=True)
    )
