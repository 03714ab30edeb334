"""How a request names the window that it comes from: headers, `_meta` keys and window ids, the same for both sides.

A window is one conversation of one agent program. Hooks, the proxy and the edges import these names, so this module
imports nothing of the server. Which session a window belongs to is decided in `acting.py`.
"""

import os
import re
import socket
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, Literal

WINDOW_HEADER: Final = "X-Commonplace-Window"
"""Window ids, the most specific first, separated by commas."""
SESSION_HEADER: Final = "X-Commonplace-Session"
"""A session_id from memory_start_session."""
SEAT_HEADER: Final = "X-Commonplace-Seat"
"""`tool@machine`, such as `claude@laptop`: with the working directory it names the place of one person's agent."""
BRANCH_HEADER: Final = "X-Commonplace-Branch"
"""The git branch that is checked out."""
PROJECT_HEADER: Final = "X-Commonplace-Project"
"""The project of a call that names none and has no session, such as one of the web page."""
RULES_HEADER: Final = "X-Commonplace-Rules"
"""The version of the rules that a hook has; a reply to a call that has another one brings the rules."""

WINDOW_META: Final = "commonplace/window"
"""The same as the header: a text, or a list of texts."""
SESSION_META: Final = "commonplace/session"
SEAT_META: Final = "commonplace/seat"
BRANCH_META: Final = "commonplace/branch"

IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
"""A random text that stays the same when a request is sent again: a repeated write is carried out once."""
IDEMPOTENCY_META: Final = "commonplace/idempotency_key"

_PERCENT: Final = 0x25
_PRINTABLE_BYTES: Final = range(0x21, 0x7F)

WindowKind = Literal["call", "conversation", "connection"]

_CALL_PREFIX: Final = "claude-call:"
_CONNECTION_PREFIXES: Final = ("pid:", "mcp:", "stdio:")
_STAT_FIELDS_BEFORE_START: Final = 19  # after the program's name, which may contain blanks and parentheses
_QUERY_LIMITED_INFORMATION: Final = 0x1000
_TOOL_WORDS: Final = re.compile(r"[^a-z0-9]+")
# Programs whose name at `initialize` does not begin with the name that people use for them.
_TOOL_NAMES: Final = {"visual": "vscode", "github": "copilot"}


def conversation_window(tool: str, conversation_id: str, subagent_id: str = "") -> str:
    """The id of a conversation, such as `claude:6f1c…`; a sub-agent without a conversation of its own adds its id."""
    return f"{tool}:{conversation_id}/{subagent_id}" if subagent_id else f"{tool}:{conversation_id}"


def claude_call_window(tool_use_id: str) -> str:
    """The id of one tool call of Claude Code. Its hook binds it before the call arrives."""
    return f"{_CALL_PREFIX}{tool_use_id}"


def process_window(pid: int) -> str:
    """The id of an agent program that runs as a process of this machine; a later process with the same pid has another."""
    started = find_process_start(pid)
    return f"pid:{machine_name()}:{pid}:{started}" if started else f"pid:{machine_name()}:{pid}"


def find_process_start(pid: int) -> str:
    """When the process started: the same text as long as it lives, another one for any later process; empty if it is gone."""
    if sys.platform == "win32":
        return _read_windows_start(pid)
    return _read_linux_start(pid) if sys.platform == "linux" else _ask_ps(pid)


def _read_linux_start(pid: int) -> str:
    """Clock ticks since the boot, and the boot."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return f"{fields[_STAT_FIELDS_BEFORE_START]}-{boot[:8]}"


def _ask_ps(pid: int) -> str:
    """The second of the start, in one spelling for every process of this machine."""
    import subprocess  # noqa: PLC0415 - costs every hook some milliseconds, and Linux does not need it

    command = ["/bin/ps", "-o", "lstart=", "-p", str(pid)]
    environment = os.environ | {"LC_ALL": "C", "TZ": "UTC"}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return "-".join(answer.stdout.replace(":", "").split())


def _read_windows_start(pid: int) -> str:
    import ctypes  # noqa: PLC0415 - as above

    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]  # only there
    process = kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid)
    if not process:
        return ""
    times = [ctypes.c_ulonglong() for _ in range(4)]
    kernel.GetProcessTimes(process, *map(ctypes.byref, times))
    kernel.CloseHandle(process)
    return str(times[0].value)


@cache
def machine_name() -> str:
    """The name of this machine in window ids and seats; COMMONPLACE_MACHINE overrides it."""
    name = os.environ.get("COMMONPLACE_MACHINE") or socket.gethostname()
    return name.partition(".")[0].lower() or "localhost"


def encode_header_value(text: str) -> str:
    """A text as a header can carry it: percent-encoded UTF-8 where it is not plain ASCII, such as `b%C3%BCro`."""
    if text.isascii() and text.isprintable() and "%" not in text:
        return text
    printable = "".join(character if character.isprintable() else "_" for character in text)
    return "".join(
        chr(byte) if byte in _PRINTABLE_BYTES and byte != _PERCENT else f"%{byte:02X}"
        for byte in printable.encode()
    )


@lru_cache(maxsize=256)
def tool_of_client(client: str) -> str:
    """The name of the agent program, from the name of its MCP client: `claude` from `claude-code`."""
    words = [word for word in _TOOL_WORDS.split(client.lower()) if word]
    return _TOOL_NAMES.get(words[0], words[0]) if words else ""


def kind_of_window(window: str) -> WindowKind:
    """A call is part of a conversation; a connection may carry several conversations, one after the other or at once."""
    if window.startswith(_CALL_PREFIX):
        return "call"
    return "connection" if window.startswith(_CONNECTION_PREFIXES) else "conversation"
