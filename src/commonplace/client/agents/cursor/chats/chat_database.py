"""The chats in Cursor's `state.vscdb`: SQLite files with the tables ItemTable and cursorDiskKV, each of keys and JSON.

The global file has a row `composerData:<chat>` for each chat and `bubbleId:<chat>:<bubble>` for each message; older
versions kept messages inside the chat, or whole chats in the file of their workspace. Cursor documents none of it, so
every field may be missing. Only the rows of chats are read: the same tables hold the user's tokens.
"""

import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from commonplace.journal.json_record import Record, get_nested, list_records, text_or_empty

_BUSY_SECONDS = 5.0
_MAX_VALUE_BYTES = 32 * 1024 * 1024
_DATABASE_NAME = "state.vscdb"
_CHAT_PREFIX = "composerData:"
_ITEM_SQL = "select value from ItemTable where key = ? and length(value) <= ?"
_RANGE_SQL = "select key, value from cursorDiskKV where key >= ? and key < ? and length(value) <= ?"
_COMPOSERS_KEY = "composer.composerData"
_TABS_KEY = "workbench.panel.aichat.view.aichat.chatdata"
_ROLES = {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}


@dataclass(frozen=True)
class CursorMessage:
    id: str
    role: str
    fields: Record


@dataclass
class CursorChat:
    id: str
    title: str
    folder: str
    model: str
    created_at: Any
    updated_ms: int
    is_generating: bool
    message_ids: list[str] = field(default_factory=list)
    """In their order; the messages are rows of their own, unless they are in `messages`."""
    messages: list[CursorMessage] = field(default_factory=list)


def find_user_folder() -> Path:
    """Where Cursor keeps the state of its user, by platform."""
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/Cursor/User").expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or "~/AppData/Roaming").expanduser() / "Cursor" / "User"
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "Cursor" / "User"


class ChatDatabases:
    """The global database and those of the workspaces; one that cannot be read is reported and the others are read."""

    def __init__(self, user_folder: Path) -> None:
        self._global = user_folder / "globalStorage" / _DATABASE_NAME
        self._workspaces = sorted((user_folder / "workspaceStorage").glob(f"*/{_DATABASE_NAME}"))
        self._folders: dict[str, str] = {}

    def list_chats(self) -> list[CursorChat]:
        """Every chat that has messages; those of the global database without their texts."""
        chats = [chat for path in self._workspaces for chat in self._read_workspace(path)]
        if self._global.is_file():
            chats += _read_rows(self._global, self._read_global)
        return list({chat.id: chat for chat in chats if chat.message_ids or chat.messages}.values())

    def load_messages(self, chat: CursorChat) -> list[CursorMessage]:
        return chat.messages or _read_rows(self._global, lambda rows: _load_messages(rows, chat))

    def _read_workspace(self, path: Path) -> list[CursorChat]:
        """Chats of older versions; and the folder of every chat that was begun in this workspace."""
        folder = _read_workspace_folder(path.with_name("workspace.json"))

        def read(rows: sqlite3.Connection) -> Iterator[CursorChat]:
            for chat in list_records(get_nested(_read_item(rows, _COMPOSERS_KEY), "allComposers")):
                self._folders[text_or_empty(chat.get("composerId"))] = folder
                yield _build_chat(text_or_empty(chat.get("composerId")), chat, folder)
            for tab in list_records(get_nested(_read_item(rows, _TABS_KEY), "tabs")):
                yield _build_tab(tab, folder)

        return _read_rows(path, read)

    def _read_global(self, rows: sqlite3.Connection) -> Iterator[CursorChat]:
        for key, value in _read_range(rows, _CHAT_PREFIX):
            own = text_or_empty(get_nested(value, "workspaceIdentifier", "uri", "fsPath"))
            yield _build_chat(key, value, own or self._folders.get(key, ""))


def _read_rows(path: Path, read: Any) -> list[Any]:
    """What `read` yields from the database at this path; it is only read."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)) as rows:
            rows.text_factory = lambda text: text.decode("utf-8", "replace")
            return list(read(rows))
    except sqlite3.Error as fault:
        sys.stderr.write(f"commonplace: the chats in {path} cannot be read ({fault}).\n")
        return []


def _read_item(rows: sqlite3.Connection, key: str) -> Any:
    row = rows.execute(_ITEM_SQL, (key, _MAX_VALUE_BYTES)).fetchone()
    return _decode_value(row[0]) if row else None


def _read_range(rows: sqlite3.Connection, prefix: str) -> Iterator[tuple[str, Record]]:
    """The rest of each key and its value, of all keys that begin with the prefix, which ends in a colon."""
    end = prefix[:-1] + chr(ord(":") + 1)
    for key, value in rows.execute(_RANGE_SQL, (prefix, end, _MAX_VALUE_BYTES)):
        if isinstance(decoded := _decode_value(value), dict):
            yield key.removeprefix(prefix), decoded


def _decode_value(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str | bytes) else None
    except (ValueError, RecursionError):
        return None


def _build_chat(chat_id: str, value: Record, folder: str) -> CursorChat:
    headers = (
        text_or_empty(header.get("bubbleId"))
        for header in list_records(value.get("fullConversationHeadersOnly"))
    )
    return CursorChat(
        chat_id,
        text_or_empty(value.get("name")),
        folder,
        text_or_empty(get_nested(value, "modelConfig", "modelName")),
        value.get("createdAt"),
        max(_milliseconds(value.get("createdAt")), _milliseconds(value.get("lastUpdatedAt"))),
        value.get("status") == "generating",
        [bubble for bubble in headers if bubble],
        list(_list_inner_messages(value.get("conversation"), "bubbleId")),
    )


def _build_tab(tab: Record, folder: str) -> CursorChat:
    sent = tab.get("lastSendTime") or tab.get("timestamp")
    messages = list(_list_inner_messages(tab.get("bubbles"), "id"))
    chat_id, title = text_or_empty(tab.get("tabId") or tab.get("id")), text_or_empty(tab.get("chatTitle"))
    return CursorChat(chat_id, title, folder, "", sent, _milliseconds(sent), False, [], messages)


def _list_inner_messages(listed: Any, id_name: str) -> Iterator[CursorMessage]:
    for number, bubble in enumerate(list_records(listed)):
        if role := _find_role(bubble):
            yield CursorMessage(text_or_empty(bubble.get(id_name)) or f"message-{number}", role, bubble)


def _load_messages(rows: sqlite3.Connection, chat: CursorChat) -> Iterator[CursorMessage]:
    values = dict(_read_range(rows, f"bubbleId:{chat.id}:"))
    for bubble_id in chat.message_ids:
        if (value := values.get(bubble_id)) and (role := _find_role(value)):
            yield CursorMessage(bubble_id, role, value)


def _find_role(bubble: Record) -> str:
    kind = bubble.get("type")
    return _ROLES.get(kind, "") if isinstance(kind, int | str) else ""


def _milliseconds(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < 10**13 else 0


def _read_workspace_folder(path: Path) -> str:
    """The local folder of a workspace; empty for one of several folders, or on another machine."""
    try:
        address = get_nested(json.loads(path.read_bytes()), "folder")
        split = urlsplit(text_or_empty(address))
    except (OSError, ValueError, RecursionError):
        return ""
    return url2pathname(split.path) if split.scheme == "file" and not split.netloc else ""
