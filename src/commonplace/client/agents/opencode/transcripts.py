"""opencode keeps its sessions in a SQLite database; sync sends files. So each session is exported to a file first.

An export is append-only: one line for the session, for each message and for each part of one, once it is finished; a
record that changes later is appended again. What was exported before is read from the file itself, so a run that was
interrupted, or is repeated, adds nothing twice. The database is only read.
"""

import json
import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.client import remote
from commonplace.client.agents import AGENTS
from commonplace.client.sync.transcript import AgentTranscripts, Transcript, read_first_objects

_TOOL = AGENTS["opencode"].transcript_tool
_FOLDER_NAME = "opencode"
_BUSY_SECONDS = 5.0
_ABANDONED_MILLISECONDS = 10 * 60 * 1000
_RETENTION_SECONDS = 30 * 86_400
_SESSION_ID = re.compile(r"\w{1,100}", re.ASCII)
_LINE_HEAD = re.compile(rb'\{"opencode":"(\w+)","id":"([^"\\]+)"')
_SKIPPED_PARTS = ("step-start", "step-finish", "snapshot")

_SESSIONS_SQL = """
select s.id, s.parent_id, s.directory, s.title, s.version, s.agent, s.time_created,
  max(s.time_updated, coalesce(m.at, 0), coalesce(p.at, 0)) as changed_at
from session s
left join (select session_id, max(time_updated) as at from message group by session_id) m on m.session_id = s.id
left join (select session_id, max(time_updated) as at from part group by session_id) p on p.session_id = s.id
order by s.time_created, s.id
"""
_MESSAGES_SQL = "select id, time_updated, data from message where session_id = ? order by time_created, id"
_PARTS_SQL = "select id, message_id, time_updated, data from part where session_id = ? order by id"


class _Record(NamedTuple):
    """A line of an export: `key` is its kind and id."""

    key: tuple[bytes, bytes]
    line: bytes


def _data_folder() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "opencode"


def _exports_folder() -> Path:
    return remote.client_home() / "transcripts" / _FOLDER_NAME


def _list_transcripts() -> Iterator[Transcript]:
    """Every exported session, after what is new in the database was exported."""
    database = _data_folder() / "opencode.db"
    if database.is_file():
        try:
            _export_sessions(database)
        except (sqlite3.Error, ValueError) as fault:
            sys.stderr.write(f"commonplace: the sessions in {database} cannot be read ({fault}).\n")
    yield from map(_transcript_at, sorted(_exports_folder().glob("*.jsonl")))


def _export_sessions(path: Path) -> None:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)) as database:
        database.row_factory = sqlite3.Row
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        sessions = [row for row in database.execute(_SESSIONS_SQL) if _SESSION_ID.fullmatch(row["id"])]
        for session in sessions:
            export = _exports_folder() / f"{session['id']}.jsonl"
            if not _is_current(export, session["changed_at"]):
                _export_session(database, session, export)
    _delete_old_exports({session["id"] for session in sessions})


def _is_current(export: Path, changed_at: int) -> bool:
    """The time of an export is that of the last change in it."""
    return export.is_file() and export.stat().st_mtime_ns // 1_000_000 == changed_at


def _export_session(database: sqlite3.Connection, session: sqlite3.Row, export: Path) -> None:
    exported, length = _read_export(export)
    records, is_whole = _collect_records(database, session)
    lines = [record.line for record in records if exported.get(record.key) != hash(record.line)]
    export.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(export, os.O_RDWR | os.O_CREAT, 0o600)
    with open(descriptor, "r+b") as file:  # noqa: PTH123 - of a descriptor
        file.seek(length)
        file.write(b"".join(lines))
        file.truncate()
    milliseconds = session["changed_at"] - (0 if is_whole else 1)
    os.utime(export, ns=(milliseconds * 1_000_000, milliseconds * 1_000_000))


def _read_export(export: Path) -> tuple[dict[tuple[bytes, bytes], int], int]:
    """A hash of the last line of each record, and the length of the whole lines."""
    exported: dict[tuple[bytes, bytes], int] = {}
    length = 0
    try:
        with export.open("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    length += len(line)
                    if head := _LINE_HEAD.match(line):
                        exported[head[1], head[2]] = hash(line)
    except FileNotFoundError:
        pass
    return exported, length


def _collect_records(database: sqlite3.Connection, session: sqlite3.Row) -> tuple[list[_Record], bool]:
    """The finished records of a session in their order, and whether none is left out."""
    messages = [(row, json.loads(row["data"])) for row in database.execute(_MESSAGES_SQL, (session["id"],))]
    parts: dict[str, list[tuple[str, Any]]] = {}
    for row in database.execute(_PARTS_SQL, (session["id"],)):
        parts.setdefault(row["message_id"], []).append((row["id"], json.loads(row["data"])))
    finished = [(row["id"], data) for row, data in messages if _is_finished(data, row["time_updated"])]
    records = [_build_session_record(session)]
    for message_id, data in finished:
        records.append(_build_message_record(message_id, data))
        records += [
            _build_part_record(part_id, message_id, data, part)
            for part_id, part in parts.get(message_id, ())
            if part.get("type") not in _SKIPPED_PARTS
        ]
    return records, len(finished) == len(messages)


def _is_finished(message: dict[str, Any], updated_at: int) -> bool:
    """A message of the model grows until it is completed; one that has not changed for long was abandoned."""
    if message.get("role") != "assistant" or "completed" in message.get("time", {}) or message.get("error"):
        return True
    return time.time() * 1000 - updated_at > _ABANDONED_MILLISECONDS


def _build_session_record(session: sqlite3.Row) -> _Record:
    names = {"parent_id": "parentID", "time_created": "created"}
    fields = ("parent_id", "directory", "title", "version", "agent", "time_created")
    shown = {names.get(name, name): session[name] for name in fields}
    return _build_record("session", session["id"], shown)


def _build_message_record(message_id: str, data: dict[str, Any]) -> _Record:
    """The message without the diffs of the whole turn, which change later and are in its parts."""
    if isinstance(data.get("summary"), dict):
        data = {name: value for name, value in data.items() if name != "summary"}
    return _build_record("message", message_id, data)


def _build_part_record(part_id: str, message_id: str, message: dict[str, Any], part: Any) -> _Record:
    """A part says who wrote it, so that each line can be read without those before it."""
    role = "summary" if message.get("summary") is True else message.get("role")
    at = message.get("time", {}).get("created")
    return _build_record("part", part_id, {"message": message_id, "role": role, "at": at, "part": part})


def _build_record(kind: str, identity: str, fields: dict[str, Any]) -> _Record:
    record = {"opencode": kind, "id": identity} | {name: fields[name] for name in fields if name != "id"}
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    return _Record((kind.encode(), identity.encode()), line)


def _delete_old_exports(sessions: set[str]) -> None:
    """Delete exports of sessions that their user deleted a while ago."""
    oldest = time.time() - _RETENTION_SECONDS
    for export in _exports_folder().glob("*.jsonl"):
        if export.stem not in sessions and export.stat().st_mtime < oldest:
            export.unlink(missing_ok=True)


def _transcript_at(path: Path) -> Transcript:
    return Transcript(_TOOL, path.stem, path)


def _find_work_folder(path: Path, _known: Iterable[str]) -> str:
    folders = (record.get("directory") for record in read_first_objects(path))
    return next((folder for folder in folders if isinstance(folder, str) and folder), "")


def _name_project(_path: Path) -> str:
    return _TOOL


TRANSCRIPTS = AgentTranscripts(
    _data_folder,
    _FOLDER_NAME,
    _list_transcripts,
    _transcript_at,
    _find_work_folder,
    _name_project,
    "`~/.local/share/opencode/opencode.db` (`XDG_DATA_HOME`), exported to `transcripts/opencode` in `COMMONPLACE_HOME`",
    "the session's id",
)
