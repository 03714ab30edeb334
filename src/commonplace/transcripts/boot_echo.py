"""Finds the echo of our own boot pack in a transcript: text that hooks injected, and replies of memory_start_session.

A transcript repeats what the memory already knows, and a search for it must find where it was said, not each session
that was told. The reader marks echoes and the index leaves them out; the stored bytes keep them. How the text is
written: `client/companion/boot_context.py`.
"""

import re
from collections.abc import Iterator
from typing import Any

from commonplace.journal.json_record import Record, list_texts

ECHO_TEXT = "Boot pack of Commonplace (not searched)"
"""What a chat shows in place of an echo."""

_QUICK_MARKS = ("Commonplace", "session_id")
_INTRODUCTION = (
    r"(?:You are (?:the agent|a sub-agent of the agent) [^\n]{1,1000}? of Commonplace, the shared memory"
    r"|Commonplace is the shared memory of this team's agents; its tools are named memory_)"
)
# Up to the line after "returned it:", which has the whole pack; without it, only the line of the introduction.
_INJECTED = re.compile(
    _INTRODUCTION
    + r"[^\n]*(?:\n(?:[^\n]{0,600}\n){0,3}?The state of the project [^\n]{1,200} returned it:(?:\n[^\n]*)?)?"
)
_WRAPPED = re.compile(
    r"<(hook_context|system_reminder|system-reminder|user-prompt-submit-hook|session-start-hook)>\s*(?:SessionStart[^\n]{0,100}: )?"
    + _INTRODUCTION
    + r".*?(?:</\1>|\Z)",
    re.DOTALL,
)
# A reply of memory_start_session, also as JSON inside of JSON, where its quotes are escaped.
_PACK = re.compile(
    r'\{\\*"project\\*":\\*"[^"\\]{1,200}\\*",\\*"agent\\*":\\*"[^"\\]{1,200}\\*",\\*"session_id\\*":[^\n]*'
)
_SESSION_ID = re.compile(
    rb'(?:session_id for these tools: |"project\\*":\\*"[^"\\]{1,400}\\*",\\*"agent\\*":\\*"[^"\\]{1,400}\\*",\\*"session_id\\*":\\*")'
    rb'([^\s"\\]{1,600}_(?:[0-9a-f]{34}(?![0-9a-f])|~[0-9a-f]{32}~))'
)
_PACK_FIELDS = {"project", "agent", "session_id", "messages"}


def remove_boot_echo(text: str) -> str:
    """The text without echoes; the same text if there are none."""
    if not any(mark in text for mark in _QUICK_MARKS):
        return text
    for pattern in (_WRAPPED, _INJECTED, _PACK):
        text = pattern.sub("", text)
    return text.strip()


def find_session_id(line: bytes) -> str:
    """The session_id in the last echo of a line, masked or not; empty if there is none."""
    matches = _SESSION_ID.findall(line) if b"session_id" in line else []
    return matches[-1].decode(errors="replace") if matches else ""


def list_said_texts(value: Any) -> Iterator[str]:
    """Every text in a decoded line but for echoes."""
    yield from map(remove_boot_echo, list_texts(value, _is_boot_pack))


def _is_boot_pack(record: Record) -> bool:
    return record.keys() >= _PACK_FIELDS
