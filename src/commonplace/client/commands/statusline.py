"""`commonplace statusline`: one line for Claude Code's status line. It answers at once and never fails.

Claude Code runs it several times a minute, beside every window. A server on this machine is asked, for a tenth of a
second at most; of a remote one the last known line is shown, and a process of its own asks for the next.
"""

import json
import os
import sys
import time
import zlib
from pathlib import Path
from typing import Any

from commonplace.client import project
from commonplace.client.companion.hook_state import HookState
from commonplace.client.link import remote
from commonplace.client.link.server_link import find_link

_LOCAL_SECONDS, _REMOTE_SECONDS = 0.15, 5.0
_FRESH_SECONDS, _STALE_SECONDS = 2.0, 600.0
_REMOTE_FRESH_SECONDS = 10.0
_MAX_INPUT_BYTES = 1024 * 1024
_REFRESH = "--refresh"
_RED, _DIM, _PLAIN = "\x1b[1;31m", "\x1b[2m", "\x1b[0m"


def main(words: list[str]) -> int:
    """`statusline`, or `statusline --refresh FOLDER`, which only asks the server."""
    try:
        if words[1:2] == [_REFRESH]:
            _ask_server(str(words[2]), _REMOTE_SECONDS)
            return 0
        line = build_line(_read_input())
        sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
    except Exception:  # noqa: BLE001, S110 - the outermost line: a status line that fails is an empty one
        pass
    return 0


def _read_input() -> dict[str, Any]:
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    try:
        given = json.loads(sys.stdin.buffer.read(_MAX_INPUT_BYTES))
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def build_line(given: dict[str, Any]) -> str:
    workspace = given.get("workspace")
    named = workspace.get("current_dir") if isinstance(workspace, dict) else None
    folder = str(given.get("cwd") or named or Path.cwd())
    counts = _find_counts(folder)
    agent = _find_agent(str(given.get("session_id") or ""))
    return format_line(counts, agent, has_colours=not os.environ.get("NO_COLOR"))


def format_line(counts: dict[str, Any] | None, agent: str, *, has_colours: bool) -> str:
    name = f"{agent} · " if agent else ""
    if counts is None:
        return f"{name}commonplace: no answer"
    needs, parts = int(counts["needs_you"]), [_count(int(counts["agents"]), "agent")]
    if counts["locks"]:
        parts.append(f"{counts['locks']} held")
    if counts["prevented"]:
        parts.append(f"{counts['prevented']} prevented")
    waiting = f"{needs} need{'s' * (needs == 1)} you"
    rest = f"{name}{' · '.join(parts)}"
    if not has_colours:
        return f"{waiting} · {rest}" if needs else rest
    return f"{_RED}{waiting}{_PLAIN} · {rest}" if needs else f"{_DIM}{rest}{_PLAIN}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _find_agent(session: str) -> str:
    known = HookState(session).load_session() if session else None
    return known.agent if known else ""


def _find_counts(folder: str) -> dict[str, Any] | None:
    """The counts of the folder's project: what was asked just now, else what the server says, else the last known."""
    server = remote.find_server(folder=folder)
    if server is None:
        return None
    counts, age = _read_cache(folder)
    if find_link(server.url).is_remote:
        if age > _REMOTE_FRESH_SECONDS:
            _start_refresh(folder)
        return counts if age < _STALE_SECONDS else None
    if counts is not None and age < _FRESH_SECONDS:
        return counts
    return _ask_server(folder, _LOCAL_SECONDS) or (counts if age < _STALE_SECONDS else None)


def _ask_server(folder: str, seconds: float) -> dict[str, Any] | None:
    server = remote.find_server(folder=folder)
    if server is None:
        return None
    named = {"project": project.project_of_folder(folder)}
    try:
        counts = remote.call_operation(server, "memory_get_live_counts", named, seconds)
    except (remote.ServerUnreachable, remote.ServerRefusal):
        return None
    _write_cache(folder, counts)
    return counts


def _cache_path(folder: str) -> Path:
    return remote.client_home() / "statusline" / f"{zlib.crc32(folder.encode('utf-8', 'replace')):08x}.json"


def _read_cache(folder: str) -> tuple[dict[str, Any] | None, float]:
    path = _cache_path(folder)
    try:
        return json.loads(path.read_bytes()), max(0.0, time.time() - path.stat().st_mtime)
    except (OSError, ValueError):
        return None, float("inf")


def _write_cache(folder: str, counts: dict[str, Any]) -> None:
    path = _cache_path(folder)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.part")
    temporary.write_text(json.dumps(counts), encoding="utf-8")
    temporary.replace(path)


def _start_refresh(folder: str) -> None:
    from commonplace.client.processes import start_detached  # only for remote servers

    path = _cache_path(folder)
    asked = path.with_suffix(".asked")
    try:
        if time.time() - asked.stat().st_mtime < _REMOTE_FRESH_SECONDS:
            return
    except FileNotFoundError:
        asked.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    asked.touch(mode=0o600)
    start_detached(["statusline", _REFRESH, folder], path.with_suffix(".log"))
