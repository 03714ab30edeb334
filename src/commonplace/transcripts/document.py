"""Reads a pretty-printed JSON document line by line, as records: each field of it, and each element of its lists."""

import re

from commonplace.journal.json_record import Record, decode_record
from commonplace.transcripts.state import TranscriptState

# Possessive, up to the closing quote or the end of the line, so no character is matched twice.
_STRING_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
_LIST_OPENING = re.compile(rb'^\s*"[^"]{1,100}": \[$')
_MAX_PARTIAL_BYTES = 2_000_000


def read_document_line(line: bytes, state: TranscriptState) -> tuple[Record | None, bool]:
    """The record that this line completes, if it does, and whether the line can be part of a document."""
    bare = _STRING_TOKEN.sub(b"", line)
    before = state.depth
    state.depth = max(0, before + bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]"))
    if before == 1 and (state.depth == 1 or _LIST_OPENING.match(line.rstrip(b"\r"))):
        state.document_list = state.depth > 1
        record = None if state.document_list else decode_record(b"{" + line.strip().rstrip(b",") + b"}")
        return record, state.document_list or record is not None
    inner = 2 if state.document_list else 1
    if before <= inner and state.depth <= inner and not (before == state.depth == inner):
        return None, True
    state.partial_size += len(line)
    if state.partial_size <= _MAX_PARTIAL_BYTES:
        state.partial.append(line)
    else:
        state.partial.clear()
    if state.depth > inner:
        return None, True
    text = b"\n".join(state.partial).strip().rstrip(b",")
    state.partial, state.partial_size = [], 0
    record = decode_record(text if state.document_list else b"{" + text + b"}")
    return record, record is not None
