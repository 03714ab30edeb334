"""A database of Goose with the tables of its schema version 5, and sessions written as its session manager writes them."""

import json
import sqlite3
from pathlib import Path
from typing import Any

SESSION = "20251204_1"
CHILD = "20251204_2"
CREATED = 1_764_851_268
_SCHEMA = """
create table schema_version (version integer primary key, applied_at timestamp default current_timestamp);
insert into schema_version (version) values (5);
create table sessions (
  id text primary key, name text not null default '', description text not null default '',
  user_set_name boolean default false, session_type text not null default 'user', working_dir text not null,
  created_at timestamp default current_timestamp, updated_at timestamp default current_timestamp,
  extension_data text default '{}', total_tokens integer, input_tokens integer, output_tokens integer,
  accumulated_total_tokens integer, accumulated_input_tokens integer, accumulated_output_tokens integer,
  schedule_id text, recipe_json text, user_recipe_values_json text);
create table messages (
  id integer primary key autoincrement, session_id text not null references sessions(id), role text not null,
  content_json text not null, created_timestamp integer not null, timestamp timestamp default current_timestamp,
  tokens integer, metadata_json text);
"""
VISIBLE = {"userVisible": True, "agentVisible": True}


def text_block(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def request_block(identity: str, tool: str, **arguments: Any) -> dict[str, Any]:
    call = {"status": "success", "value": {"name": tool, "arguments": arguments}}
    return {"type": "toolRequest", "id": identity, "toolCall": call}


def response_block(identity: str, words: str, *, failed: bool = False) -> dict[str, Any]:
    value = {"content": [text_block(words)], "isError": failed}
    return {"type": "toolResponse", "id": identity, "toolResult": {"status": "success", "value": value}}


MESSAGES: list[tuple[str, list[dict[str, Any]]]] = [
    ("user", [text_block("Round the cart total")]),
    ("assistant", [text_block("I run the tests."), request_block("c1", "developer__shell", command="python t.py")]),
    ("user", [response_block("c1", "AssertionError: cart total is not rounded", failed=True)]),
    ("assistant", [request_block("c2", "developer__text_editor", command="write", path="/home/ann/shop/cart.py")]),
    ("user", [{"type": "toolResponse", "id": "c2", "toolResult": {"status": "error", "error": "-32603: disk is full"}}]),
    ("assistant", [{"type": "thinking", "thinking": "Hm", "signature": ""}, text_block("The disk is full.")]),
]  # fmt: skip


class SessionDatabase:
    def __init__(self, path: Path, work_folder: str = "/home/ann/shop") -> None:
        self._work_folder = work_folder
        path.parent.mkdir(parents=True)
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.executescript(_SCHEMA)
        self.add_session(SESSION, "Cart rounding", "user")
        for number, (role, content) in enumerate(MESSAGES):
            self.add_message(SESSION, role, content, CREATED + number)
        self.add_session(CHILD, "", "sub_agent")
        self.add_message(CHILD, "user", [text_block("Check the tests")], CREATED)

    def add_session(self, session: str, name: str, kind: str) -> None:
        self._database.execute(
            "insert into sessions (id, name, session_type, working_dir, created_at, accumulated_input_tokens,"
            " accumulated_output_tokens) values (?, ?, ?, ?, '2025-12-04 12:27:48', 60, 30)",
            (session, name, kind, self._work_folder),
        )

    def add_message(self, session: str, role: str, content: list[dict[str, Any]], created: int) -> None:
        self._database.execute(
            "insert into messages (session_id, role, content_json, created_timestamp, metadata_json)"
            " values (?, ?, ?, ?, ?)",
            (session, role, json.dumps(content), created, json.dumps(VISIBLE)),
        )

    def compact(self, session: str, summary: str, created: int) -> None:
        """As `replace_conversation` does: every message is deleted and written anew, with other ids."""
        query = "select role, content_json, created_timestamp from messages where session_id = ? order by id"
        rows = self._database.execute(query, (session,)).fetchall()
        self._database.execute("delete from messages where session_id = ?", (session,))
        for role, content, at in rows:
            self.add_message(session, role, json.loads(content), at)
        self.add_message(session, "assistant", [text_block(summary)], created)

    def close(self) -> None:
        self._database.close()
