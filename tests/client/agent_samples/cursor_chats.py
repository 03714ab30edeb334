"""Databases of Cursor with chats as its versions of 2024 to 2026 keep them, by public descriptions of the format."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

CHAT = "4f0c1d2e-0000-4000-8000-000000000001"
INLINE_CHAT = "4f0c1d2e-0000-4000-8000-000000000002"
TAB = "4f0c1d2e-0000-4000-8000-000000000003"
FOLDER = "/home/ann/my shop"
CREATED = 1_764_851_268_189
_TABLES = """
create table if not exists ItemTable (key text unique on conflict replace, value blob);
create table if not exists cursorDiskKV (key text unique on conflict replace, value blob);
"""
BUBBLES: dict[str, dict[str, Any]] = {
    "b1": {"_v": 3, "type": 1, "text": "Round the cart total", "createdAt": "2025-12-04T12:27:48.189Z"},
    "b2": {"_v": 3, "type": 2, "text": "", "thinking": {"text": "Hm"}},
    "b3": {
        "type": 2,
        "text": "I run the tests.",
        "createdAt": 1_764_851_270_000,
        "toolFormerData": {
            "tool": 15,
            "name": "run_terminal_cmd",
            "toolCallId": "toolu_1",
            "status": "completed",
            "rawArgs": json.dumps({"command": "pytest -q"}),
            "result": json.dumps({"output": "AssertionError: cart total is not rounded", "exitCode": 1}),
        },
    },
    "b4": {
        "type": 2,
        "toolFormerData": {
            "tool": 7,
            "status": "error",
            "params": json.dumps({"target_file": "/home/ann/my shop/cart.py"}),
        },
    },
    "b5": {"type": 2, "text": "The cart total is rounded now."},
}


class ChatFiles:
    """The folder `Cursor/User` with a global database and the database of one workspace."""

    def __init__(self, user_folder: Path) -> None:
        self.shared = user_folder / "globalStorage/state.vscdb"
        self.workspace = user_folder / "workspaceStorage/0a1b/state.vscdb"
        for path in (self.shared, self.workspace):
            path.parent.mkdir(parents=True)
        self.workspace.with_name("workspace.json").write_text('{"folder": "file:///home/ann/my%20shop"}')
        self.put(
            self.workspace, "ItemTable", "composer.composerData", {"allComposers": [{"composerId": CHAT}]}
        )
        self.put(self.shared, "ItemTable", "cursorAuth/accessToken", "top secret")
        self.put_chat(CHAT, list(BUBBLES), name="Cart rounding", blobEncryptionKey="top secret")
        for bubble, value in BUBBLES.items():
            self.put_bubble(CHAT, bubble, value)

    def put(self, path: Path, table: str, key: str, value: Any) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.executescript(_TABLES)
            encoded = value if isinstance(value, bytes) else json.dumps(value)
            database.execute(f"insert into {table} values (?, ?)", (key, encoded))

    def put_chat(self, chat: str, bubbles: list[str], **fields: Any) -> None:
        headers = [{"bubbleId": bubble, "type": 1} for bubble in bubbles]
        value = {"composerId": chat, "createdAt": CREATED, "fullConversationHeadersOnly": headers}
        self.put(self.shared, "cursorDiskKV", f"composerData:{chat}", value | fields)

    def put_bubble(self, chat: str, bubble: str, value: Any) -> None:
        self.put(self.shared, "cursorDiskKV", f"bubbleId:{chat}:{bubble}", value)
