"""Goose keeps its sessions in a SQLite database (before version 1.10 in files); sync sends files. So each session of the
database is exported to a file first: one line for the session and for each message. The database is only read.

A compaction deletes the messages of a session and writes them anew with other ids, so the key of a message is a digest
of its role, time and content. A message that was exported stays in its export.
"""

import hashlib
import json
import os
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from commonplace.client.agents import ARCHIVED_PROGRAMS
from commonplace.client.link import remote, session_export
from commonplace.client.link.session_export import ExportedRecord
from commonplace.client.link.transcript import AgentTranscripts, Transcript, read_first_objects

_TOOL = ARCHIVED_PROGRAMS["goose"].transcript_tool
_FOLDER_NAME = "goose"
_BUSY_SECONDS = 5.0
_SESSION_ID = re.compile(r"[\w-]{1,100}", re.ASCII)
_MAX_SECONDS = 10**11
_NANOSECONDS = 10**9
_MAX_COUNTED = 999_999

_COUNTS_SQL = """
select session_id, count(*) as messages, max(created_timestamp) as changed_at from messages group by session_id
"""
_MESSAGES_SQL = "select role, content_json, created_timestamp from messages where session_id = ? order by id"


def _data_folder() -> Path:
    root = os.environ.get("GOOSE_PATH_ROOT") or ""
    if Path(root).is_absolute():
        return Path(root) / "data"
    if sys.platform == "win32":
        return (
            Path(os.environ.get("APPDATA") or "~/AppData/Roaming").expanduser() / "Block" / "goose" / "data"
        )
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "goose"


def _exports_folder() -> Path:
    return remote.client_home() / "transcripts" / _FOLDER_NAME


def _list_transcripts() -> Iterator[Transcript]:
    """Every exported session, after what is new in the database was exported, and older files of their own."""
    sessions = _data_folder() / "sessions"
    database = sessions / "sessions.db"
    if database.is_file():
        try:
            _export_sessions(database)
        except (sqlite3.Error, ValueError) as fault:
            sys.stderr.write(f"commonplace: the sessions in {database} cannot be read ({fault}).\n")
    exports = sorted(_exports_folder().glob("*.jsonl"))
    exported = {path.stem for path in exports}
    files = sorted(path for path in sessions.glob("*.jsonl") if path.stem not in exported)
    yield from map(_transcript_at, (*exports, *files))


def _export_sessions(path: Path) -> None:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)) as database:
        database.row_factory = sqlite3.Row
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        counts = {row["session_id"]: row for row in database.execute(_COUNTS_SQL)}
        sessions = [dict(row) for row in database.execute("select * from sessions order by id")]
        exportable = [row for row in sessions if row["id"] in counts and _SESSION_ID.fullmatch(row["id"])]
        for session in exportable:
            export = _exports_folder() / f"{session['id']}.jsonl"
            stamp = _build_stamp(counts[session["id"]])
            if not session_export.is_current(export, stamp):
                session_export.append_new_records(export, _collect_records(database, session), stamp)
    session_export.delete_old_exports(_exports_folder(), {session["id"] for session in exportable})


def _build_stamp(counted: sqlite3.Row) -> int:
    """Nanoseconds that change with every message: the last one's time, which is in seconds, and the count."""
    last, messages = int(counted["changed_at"]), int(counted["messages"])
    seconds = last if last < _MAX_SECONDS else last // 1000
    return max(0, seconds) * _NANOSECONDS + min(messages, _MAX_COUNTED) * 1000


def _collect_records(database: sqlite3.Connection, session: dict[str, Any]) -> list[ExportedRecord]:
    records = [_build_session_record(session)]
    seen = Counter[str]()
    for row in database.execute(_MESSAGES_SQL, (session["id"],)):
        content = json.loads(row["content_json"])
        said = f"{row['role']} {row['created_timestamp']} {row['content_json']}"
        seen[said] += 1
        digest = hashlib.sha256(f"{seen[said]} {said}".encode("utf-8", "replace")).hexdigest()[:24]
        fields = {"role": row["role"], "created": row["created_timestamp"], "content": content}
        records.append(session_export.build_record(_TOOL, "message", digest, fields))
    return records


def _build_session_record(session: dict[str, Any]) -> ExportedRecord:
    """Older databases have a description only; newer ones a name and a type."""
    fields = {
        "working_dir": session.get("working_dir"),
        "name": session.get("name") or session.get("description"),
        "session_type": session.get("session_type"),
        "created_at": session.get("created_at"),
        "input_tokens": session.get("accumulated_input_tokens"),
        "output_tokens": session.get("accumulated_output_tokens"),
    }
    return session_export.build_record(_TOOL, "session", session["id"], fields)


def _transcript_at(path: Path) -> Transcript:
    return Transcript(_TOOL, path.stem, path)


def _find_work_folder(path: Path, _known: Iterable[str]) -> str:
    folders = (record.get("working_dir") for record in read_first_objects(path))
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
    "`sessions/sessions.db` in `~/.local/share/goose` (`XDG_DATA_HOME`, `GOOSE_PATH_ROOT`), exported to"
    " `transcripts/goose` in `COMMONPLACE_HOME`; before version 1.10 `sessions/*.jsonl`",
    "the session's id",
)
