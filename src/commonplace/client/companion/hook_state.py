"""What the hooks of one agent session remember between runs, in COMMONPLACE_HOME/hooks/<session>.

Hooks of one session can run at the same time, so each part is a file that is replaced as a whole or appended to.
"""

import json
import os
import re
import time
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.client.companion.caller import unique_suffix
from commonplace.client.link import remote

_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
_MAX_NAME_CHARACTERS = 100
_RETENTION_DAYS = 14
_MAX_NOTICES = 50


class HookSession(NamedTuple):
    """Our session on the server that belongs to an agent's session."""

    session_id: str
    project: str
    agent: str
    root: str
    tool: str
    pack: str = ""
    ancestors: tuple[int, ...] = ()
    process: str = ""
    """The process of the agent program (`agent_process.py`)."""


class EditLease(NamedTuple):
    token: int
    at: float
    """When it was granted, by this machine's clock."""
    reasoned: bool = False
    """Whether the agent took the lease itself and gave a reason."""


class HookState:
    def __init__(self, session: str) -> None:
        self.folder = _states_folder() / _folder_name(session)

    def load_session(self) -> HookSession | None:
        try:
            fields = json.loads((self.folder / "session.json").read_bytes())
            return HookSession(**fields | {"ancestors": tuple(fields.get("ancestors", ()))})
        except (OSError, ValueError, TypeError):
            return None

    def save_session(self, session: HookSession) -> None:
        self._make_folder()
        temporary = self.folder / f"session.{unique_suffix()}"
        _write_file(temporary, json.dumps(session._asdict()), os.O_TRUNC)
        temporary.replace(self.folder / "session.json")

    def load_leases(self) -> dict[str, EditLease]:
        """The last lease of each edited file."""
        lines = _read_json_lines(self.folder / "leases.jsonl")
        return {line["file"]: EditLease(line["token"], line["at"], line["reasoned"]) for line in lines}

    def record_leases(self, granted: dict[str, int], *, reasoned: bool = False) -> None:
        recorded, now = self.load_leases(), time.time()
        fresh = [
            file for file, token in granted.items() if file not in recorded or recorded[file].token != token
        ]
        if fresh:
            lines = [{"file": file, **EditLease(granted[file], now, reasoned)._asdict()} for file in fresh]
            self._append_lines("leases.jsonl", lines)

    def is_first_time(self, mark: str) -> bool:
        """Whether this is the first call with this text; True for only one of two at once."""
        return self.set_mark(_first_time_name(mark))

    def forget_first_time(self, mark: str) -> bool:
        """Make the next call with this text the first again; whether there was one."""
        try:
            (self.folder / _first_time_name(mark)).unlink()
        except OSError:
            return False
        return True

    def set_mark(self, name: str) -> bool:
        self._make_folder()
        try:
            _write_file(self.folder / name, "", os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def claim_mark(self, name: str, seconds: float) -> bool:
        """Set the mark, also over one older than `seconds`, which a process that died has left."""
        if self.set_mark(name):
            return True
        try:
            is_abandoned = time.time() - (self.folder / name).stat().st_mtime > seconds
        except FileNotFoundError:
            is_abandoned = True
        return is_abandoned

    def has_mark(self, name: str) -> bool:
        return (self.folder / name).exists()

    def clear_mark(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def restart_interval(self, name: str, seconds: float) -> bool:
        """Whether `seconds` have passed since this last returned True for the name."""
        path = self.folder / name
        try:
            recent = time.time() - path.stat().st_mtime < seconds
        except FileNotFoundError:
            recent = False
        if not recent:
            self._make_folder()
            _write_file(path, "", os.O_TRUNC)
        return not recent

    def add_unreported_files(self, files: list[str]) -> None:
        """Files that were edited while no server answered."""
        if files:
            self._append_lines("unreported.jsonl", [{"file": file} for file in files])

    def take_unreported_files(self) -> list[str]:
        return [str(line["file"]) for line in self._take_lines("unreported")]

    def put_notices(self, texts: list[str]) -> None:
        if texts:
            self._append_lines("notices.jsonl", [{"text": text} for text in texts])

    def take_notices(self) -> list[str]:
        texts = [str(line["text"]) for line in self._take_lines("notices")]
        return list(dict.fromkeys(texts))[-_MAX_NOTICES:]

    def load_head(self) -> tuple[str, str] | None:
        """The branch and commit that the session last saw."""
        lines = _read_json_lines(self.folder / "head.jsonl")
        return (str(lines[-1]["branch"]), str(lines[-1]["commit"])) if lines else None

    def save_head(self, branch: str, commit: str) -> None:
        self._append_lines("head.jsonl", [{"branch": branch, "commit": commit}])

    def list_branches(self) -> set[str]:
        """The branches that the session has been on."""
        return {str(line["branch"]) for line in _read_json_lines(self.folder / "head.jsonl")}

    def load_place(self) -> str:
        """The root of the working tree that the session went to; empty as long as it is where it started."""
        lines = _read_json_lines(self.folder / "place.jsonl")
        return str(lines[-1]["root"]) if lines else ""

    def save_place(self, root: str) -> None:
        self._append_lines("place.jsonl", [{"root": root}])

    def load_conflicts(self, other_root: str) -> list[str]:
        """The files that would not merge with those of that working tree, when it was last looked at."""
        lines = _read_json_lines(self.folder / "conflicts.jsonl")
        return next((list(line["files"]) for line in reversed(lines) if line["root"] == other_root), [])

    def save_conflicts(self, other_root: str, files: list[str]) -> None:
        self._append_lines("conflicts.jsonl", [{"root": other_root, "files": files}])

    def has_recent_mark(self, name: str, seconds: float) -> bool:
        try:
            return time.time() - (self.folder / name).stat().st_mtime < seconds
        except FileNotFoundError:
            return False

    def renew_mark(self, name: str) -> None:
        self._make_folder()
        _write_file(self.folder / name, "", os.O_TRUNC)

    def add_command_run(self, run: dict[str, Any]) -> None:
        """A command that a rule asks for: its start, or how it ended."""
        self._append_lines("runs.jsonl", [run])

    def list_command_runs(self) -> list[dict[str, Any]]:
        return _read_json_lines(self.folder / "runs.jsonl")

    def add_edited_files(self, files: list[str]) -> None:
        if new := [file for file in files if file not in self.list_edited_files()]:
            self._append_lines("edited.jsonl", [{"file": file} for file in new])

    def list_edited_files(self) -> list[str]:
        """The files that the session was about to edit, if a rule asks for them when it stops."""
        return [str(line["file"]) for line in _read_json_lines(self.folder / "edited.jsonl")]

    def add_blocked_stop(self) -> None:
        self._append_lines("stops.jsonl", [{"at": time.time()}])

    def count_blocked_stops(self) -> int:
        """How often in a row a rule kept the agent from stopping."""
        return len(_read_json_lines(self.folder / "stops.jsonl"))

    def clear_blocked_stops(self) -> None:
        (self.folder / "stops.jsonl").unlink(missing_ok=True)

    def add_unsent_reports(self, reports: list[dict[str, Any]]) -> None:
        self._append_lines("reports.jsonl", reports)

    def take_unsent_reports(self) -> list[dict[str, Any]]:
        """Reports of fired rules that no server took."""
        return self._take_lines("reports")

    def add_subagent(self, conversation: str) -> None:
        self._append_lines("subagents.jsonl", [{"conversation": conversation}])

    def list_subagents(self) -> list[str]:
        """The conversations of sub-agents that started a session of their own."""
        lines = _read_json_lines(self.folder / "subagents.jsonl")
        return list(dict.fromkeys(str(line["conversation"]) for line in lines))

    def delete_state(self) -> None:
        _delete_folder(self.folder)

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _take_lines(self, name: str) -> list[dict[str, Any]]:
        """The lines of a file, which is deleted; of two hooks at once, one gets them."""
        taken = self.folder / f"{name}.{unique_suffix()}"
        try:
            (self.folder / f"{name}.jsonl").replace(taken)
        except FileNotFoundError:
            return []
        lines = _read_json_lines(taken)
        taken.unlink()
        return lines

    def _append_lines(self, name: str, lines: list[dict[str, Any]]) -> None:
        self._make_folder()
        _write_file(self.folder / name, "".join(json.dumps(line) + "\n" for line in lines), os.O_APPEND)


def list_hook_sessions() -> dict[str, HookSession]:
    """The sessions of all agents on this machine, by folder name."""
    sessions = {
        path.parent.name: HookState(path.parent.name).load_session()
        for path in _states_folder().glob("*/session.json")
    }
    return {name: session for name, session in sessions.items() if session}


def delete_old_states() -> None:
    """Delete the state of sessions that never ended, such as those of killed agents."""
    oldest = time.time() - _RETENTION_DAYS * 86_400
    for folder in _states_folder().glob("*"):
        try:
            old = folder.stat().st_mtime < oldest
        except FileNotFoundError:  # its session has just ended
            continue
        if old:
            _delete_folder(folder)


def _delete_folder(folder: Path) -> None:
    import shutil  # few hooks remove anything

    shutil.rmtree(folder, ignore_errors=True)


def _states_folder() -> Path:
    return remote.client_home() / "hooks"


def _folder_name(session: str) -> str:
    safe = _UNSAFE.sub("_", session).strip(".")
    if safe == session and len(safe) <= _MAX_NAME_CHARACTERS:
        return safe
    return f"{safe[: _MAX_NAME_CHARACTERS - 9]}-{zlib.crc32(session.encode('utf-8', 'replace')):08x}"


def _first_time_name(mark: str) -> str:
    return f"said-{zlib.crc32(mark.encode()):08x}"


def _write_file(path: Path, text: str, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
        file.write(text.encode("utf-8", "replace"))


def _read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a JSON Lines file; an incomplete line is skipped."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    objects = []
    for line in text.splitlines():
        try:
            objects.append(json.loads(line))
        except ValueError:
            continue
    return objects
