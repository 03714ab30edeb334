"""opencode keeps its sessions in a SQLite database; sync sends files. So each session is exported to a file first.

An export has one line for the session, for each message and for each part of one, once it is finished. The database is
only read.
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
from typing import Any

from commonplace.client.agents import AGENTS
from commonplace.client.link import remote, session_export
from commonplace.client.link.session_export import ExportedRecord
from commonplace.client.link.transcript import AgentTranscripts, Transcript, read_first_objects

_TOOL = AGENTS["opencode"].transcript_tool
_FOLDER_NAME = "opencode"
_BUSY_SECONDS = 5.0
_ABANDONED_MILLISECONDS = 10 * 60 * 1000
_NANOSECONDS = 1_000_000
"""In a millisecond."""
_SESSION_ID = re.compile(r"\w{1,100}", re.ASCII)
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
            if not session_export.is_current(export, session["changed_at"] * _NANOSECONDS):
                _export_session(database, session, export)
    session_export.delete_old_exports(_exports_folder(), {session["id"] for session in sessions})


def _export_session(database: sqlite3.Connection, session: sqlite3.Row, export: Path) -> None:
    """The time of an export is that of the last change in it, or earlier if something is left out."""
    records, is_whole = _collect_records(database, session)
    milliseconds = session["changed_at"] - (0 if is_whole else 1)
    session_export.append_new_records(export, records, milliseconds * _NANOSECONDS)


def _collect_records(database: sqlite3.Connection, session: sqlite3.Row) -> tuple[list[ExportedRecord], bool]:
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


def _build_session_record(session: sqlite3.Row) -> ExportedRecord:
    names = {"parent_id": "parentID", "time_created": "created"}
    fields = ("parent_id", "directory", "title", "version", "agent", "time_created")
    shown = {names.get(name, name): session[name] for name in fields}
    return session_export.build_record(_TOOL, "session", session["id"], shown)


def _build_message_record(message_id: str, data: dict[str, Any]) -> ExportedRecord:
    """The message without the diffs of the whole turn, which change later and are in its parts."""
    if isinstance(data.get("summary"), dict):
        data = {name: value for name, value in data.items() if name != "summary"}
    return session_export.build_record(_TOOL, "message", message_id, data)


def _build_part_record(part_id: str, message_id: str, message: dict[str, Any], part: Any) -> ExportedRecord:
    """A part says who wrote it, so that each line can be read without those before it."""
    role = "summary" if message.get("summary") is True else message.get("role")
    at = message.get("time", {}).get("created")
    return session_export.build_record(
        _TOOL, "part", part_id, {"message": message_id, "role": role, "at": at, "part": part}
    )


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
