"""The database of opencode, with the sessions that the real program stored in `opencode_sessions.sql`."""

import json
import sqlite3
from pathlib import Path
from typing import Any

SESSION, CHILD = "ses_e1a8719a3ffe2VKsiy65veA6wj", "ses_e1a86bfcbffesvx6B7Af1G8Jh1"
STORED_AT = 1_764_851_306_905


class SessionDatabase:
    """opencode's own connection keeps its log beside the database open, as the running program does."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        sample = Path(__file__).with_name("opencode_sessions.sql").read_text(encoding="utf-8")
        self._database.executescript(sample)
        self.changed_at = STORED_AT

    def move_to(self, folder: Path) -> None:
        """As if its user had worked in this folder."""
        self._database.execute("update session set directory = ?", (str(folder),))

    def add_message(self, number: int, role: str, *parts: dict[str, Any], completed: bool = True) -> str:
        message_id = f"msg_2e{number:024}"
        self.changed_at += 10_000
        when = {"created": self.changed_at} | ({"completed": self.changed_at} if completed else {})
        self.write("message", message_id, {"role": role, "time": when})
        for index, part in enumerate(parts):
            self.write("part", f"prt_2e{number:020}{index:04}", part, message_id)
        return message_id

    def write(self, table: str, identity: str, data: dict[str, Any], message_id: str = "") -> None:
        self.changed_at += 1
        message = (message_id,) if table == "part" else ()
        row = (identity, *message, SESSION, self.changed_at, self.changed_at, json.dumps(data))
        self._database.execute(f"replace into {table} values ({', '.join('?' * len(row))})", row)

    def delete_session(self, session: str) -> None:
        for table, column in (("part", "session_id"), ("message", "session_id"), ("session", "id")):
            self._database.execute(f"delete from {table} where {column} = ?", (session,))

    def close(self) -> None:
        self._database.close()


def text_part(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}
