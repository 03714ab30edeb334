"""Reads from a request which windows it comes from, the most specific first, and which session and seat it names.

`Identity` adds what headers say and `ProductHost` what MCP says, so that REST and every MCP transport agree. Which
session acts is decided from it in `acting.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from commonplace.access import Caller
from commonplace.window import (
    BRANCH_HEADER,
    BRANCH_META,
    SEAT_HEADER,
    SEAT_META,
    SESSION_HEADER,
    SESSION_META,
    WINDOW_HEADER,
    WINDOW_META,
    WindowKind,
    claude_call_window,
    conversation_window,
    kind_of_window,
    tool_of_client,
)

_MAX_WINDOWS: Final = 8
_MAX_TEXT_CHARACTERS: Final = 200
_SPECIFICITY: Final[Mapping[WindowKind, int]] = {"conversation": 0, "call": 1, "connection": 2}
_CLAUDE_CALL_META: Final = "claudecode/toolUseId"
_CODEX_METAS: Final = ("threadId", "sessionId")


def add_headers(caller: Caller, headers: Mapping[str, str]) -> Caller:
    """Add what the headers say (names in lower case)."""
    if not any(name.startswith("x-commonplace-") for name in headers):
        return caller
    return _add_origin(
        caller,
        windows=headers.get(WINDOW_HEADER.lower(), "").split(","),
        session=headers.get(SESSION_HEADER.lower()),
        seat=headers.get(SEAT_HEADER.lower()),
        branch=headers.get(BRANCH_HEADER.lower()),
    )


def add_mcp_request(
    caller: Caller, meta: Mapping[str, Any], connection: Sequence[str], client: str
) -> Caller:
    """Add what an MCP request says in `_meta`, the connection that it came on, and its client's name."""
    if not meta and not connection and not client:
        return caller
    return _add_origin(
        caller,
        windows=[*_list_meta_windows(meta), *caller.windows, *connection],
        session=meta.get(SESSION_META),
        seat=meta.get(SEAT_META) or caller.seat or tool_of_client(client),
        branch=meta.get(BRANCH_META),
    )


def _list_meta_windows(meta: Mapping[str, Any]) -> Iterator[str]:
    named = meta.get(WINDOW_META, ())
    yield from _texts([named] if isinstance(named, str) else named)
    yield from (
        conversation_window("codex", text) for text in _texts(meta.get(name) for name in _CODEX_METAS)
    )
    yield from (claude_call_window(text) for text in _texts([meta.get(_CLAUDE_CALL_META)]))


def _add_origin(caller: Caller, *, windows: Iterable[str], session: Any, seat: Any, branch: Any) -> Caller:
    ordered = sorted(dict.fromkeys(_texts(windows)), key=lambda window: _SPECIFICITY[kind_of_window(window)])
    return replace(
        caller,
        windows=tuple(ordered[:_MAX_WINDOWS]),
        session=next(_texts([session]), caller.session),
        seat=next(_texts([seat]), caller.seat),
        branch=next(_texts([branch]), caller.branch),
    )


def _texts(values: Any) -> Iterator[str]:
    """The texts among values that a client sent; everything else is ignored, as is text that no id would be."""
    for value in values if isinstance(values, Iterable) else ():
        text = value.strip() if isinstance(value, str) else ""
        if text and len(text) <= _MAX_TEXT_CHARACTERS and text.isprintable():
            yield text
