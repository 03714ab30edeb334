"""Exports the chats of Cursor's database (`chat_database.py`) to files, because sync sends files: a line for the chat and
one for each message, with its text and its tool call. `transcript_format.py` parses them."""

import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from commonplace.client.agents.cursor.chats.chat_database import (
    ChatDatabases,
    CursorChat,
    CursorMessage,
    find_user_folder,
)
from commonplace.client.link import remote, session_export
from commonplace.client.link.session_export import ExportedRecord
from commonplace.journal.json_record import Record, text_or_empty

KIND_FIELD = "cursor"
CHAT_KIND, MESSAGE_KIND = "chat", "bubble"
_ABANDONED_MILLISECONDS = 10 * 60 * 1000
_MAX_RESULT_CHARACTERS = 200_000
_NANOSECONDS = 1_000_000
"""In a millisecond."""
_MAX_COUNTED = 999_999
_SESSION_ID = re.compile(r"[\w-]{1,100}", re.ASCII)


def exports_folder() -> Path:
    return remote.client_home() / "transcripts" / "cursor"


def export_chats(transcribed: set[str]) -> list[Path]:
    """Every exported chat, after what is new was exported; without those of which Cursor itself writes a transcript."""
    databases, folder = ChatDatabases(find_user_folder()), exports_folder()
    chats = [
        chat
        for chat in databases.list_chats()
        if _SESSION_ID.fullmatch(chat.id) and chat.id not in transcribed
    ]
    for chat in chats:
        export, stamp = folder / f"{chat.id}.jsonl", _build_stamp(chat)
        if session_export.is_current(export, stamp) or _is_growing(chat):
            continue
        if messages := _collect_messages(databases.load_messages(chat)):
            session_export.append_new_records(export, [_build_chat_record(chat), *messages], stamp)
    session_export.delete_old_exports(folder, {chat.id for chat in chats})
    return [path for path in sorted(folder.glob("*.jsonl")) if path.stem not in transcribed]


def _build_stamp(chat: CursorChat) -> int:
    """Nanoseconds that change with every message: the time of the last change, which not every version writes, and the count."""
    count = len(chat.message_ids) or len(chat.messages)
    return chat.updated_ms * _NANOSECONDS + min(count, _MAX_COUNTED)


def _is_growing(chat: CursorChat) -> bool:
    """A message that is being written changes; one that has not changed for long was abandoned."""
    return chat.is_generating and time.time() * 1000 - chat.updated_ms < _ABANDONED_MILLISECONDS


def _build_chat_record(chat: CursorChat) -> ExportedRecord:
    fields = {"folder": chat.folder, "title": chat.title, "model": chat.model, "createdAt": chat.created_at}
    return session_export.build_record(KIND_FIELD, CHAT_KIND, chat.id, fields)


def _collect_messages(messages: Iterable[CursorMessage]) -> list[ExportedRecord]:
    return [record for message in messages if (record := _build_message_record(message))]


def _build_message_record(message: CursorMessage) -> ExportedRecord | None:
    """Its text and its tool call; None if it has neither, such as one of reasoning only."""
    text, tool = text_or_empty(message.fields.get("text")), _select_tool_fields(message.fields)
    if not text.strip() and not tool:
        return None
    fields: Record = {"role": message.role, "at": message.fields.get("createdAt"), "text": text}
    return session_export.build_record(
        KIND_FIELD, MESSAGE_KIND, message.id, fields | ({"tool": tool} if tool else {})
    )


def _select_tool_fields(bubble: Record) -> Record:
    call: Any = bubble.get("toolFormerData")
    if not isinstance(call, dict) or not (call.get("name") or call.get("tool")):
        return {}
    result = call.get("result")
    return {
        "id": text_or_empty(call.get("toolCallId")),
        "name": text_or_empty(call.get("name")) or f"tool {call.get('tool')}",
        "arguments": call.get("rawArgs") or call.get("params"),
        "result": result[:_MAX_RESULT_CHARACTERS] if isinstance(result, str) else result,
        "status": call.get("status"),
    }
