"""The first answer of `commonplace up`: the newest question in the user's own transcripts, and how that session ended.

It reads archived sessions through the server's operations, like any other client.
"""

from typing import Any

from commonplace.client.link import remote
from commonplace.client.link.remote import RemoteServer

_TIMEOUT_SECONDS = 30
_WORKSPACES_READ = 20
_SESSIONS_TRIED = 8
_LAST_LINES = 60
_ANSWER_CHARACTERS = 400
_ALSO_SHOWN = 2
_MATCHES_READ = 10
_MIN_RELEVANCE = 0.5


def find_first_answer(server: RemoteServer, question: str | None) -> list[tuple[str, str]]:
    """Lines for a terminal, each with its label; empty if nothing was archived that can answer."""
    if question:
        return _answer_question(server, question)
    for session in _list_newest_sessions(server)[:_SESSIONS_TRIED]:
        if answer := _read_last_answer(server, session):
            title = str(session["title"])
            place = f"{session['tool']}, {session['ended_at'][:10]}"
            also = _find_matches(server, title, not_in=session["session_id"])
            return [
                ("you asked", f"{title}  ({place})"),
                ("it ended", answer),
                *(("see also", text) for text in also),
            ]
    return []


def _answer_question(server: RemoteServer, question: str) -> list[tuple[str, str]]:
    found = _find_matches(server, question)
    return [("you asked", question), *(("answer", text) for text in found)] if found else []


def _list_newest_sessions(server: RemoteServer) -> list[dict[str, Any]]:
    """Sessions with a title, by the time they ended: the time of an upload says nothing about them."""
    workspaces = _call(server, "list_workspaces", limit=_WORKSPACES_READ)["workspaces"]
    sessions = [
        session | {"workspace_id": workspace["workspace_id"]}
        for workspace in workspaces
        for session in _call(
            server, "list_sessions", workspace_id=workspace["workspace_id"], limit=_SESSIONS_TRIED
        )["sessions"]
    ]
    titled = [session for session in sessions if session.get("title") and session.get("ended_at")]
    return sorted(titled, key=lambda session: str(session["ended_at"]), reverse=True)


def _read_last_answer(server: RemoteServer, session: dict[str, Any]) -> str:
    """The last words of the assistant in this session; empty if it said none."""
    page = _call(
        server,
        "read_session",
        workspace_id=session["workspace_id"],
        session_id=session["session_id"],
        offset=max(0, session["lines"] - _LAST_LINES),
        limit=_LAST_LINES,
    )
    spoken = [
        message["text"]
        for message in page["messages"]
        if message["role"] == "assistant" and message.get("text", "").strip() and not message.get("tool")
    ]
    return _shorten(spoken[-1]) if spoken else ""


def _find_matches(server: RemoteServer, query: str, not_in: str = "") -> list[str]:
    """What other sessions have on it; not the question itself, and each text once."""
    matches = _call(server, "search_sessions", query=query, limit=_MATCHES_READ)["matches"]
    texts: dict[str, str] = {}
    for match in matches:
        text = _shorten(str(match["snippet"]))
        is_near = match.get("relevance", 0.0) >= _MIN_RELEVANCE
        if is_near and match["session_id"] != not_in and match["role"] != "user" and text.strip('"') != query:
            texts.setdefault(text, f"{text}  ({match['role']}, {match.get('at', '')[:10]})")
    return list(texts.values())[:_ALSO_SHOWN]


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _ANSWER_CHARACTERS else f"{line[: _ANSWER_CHARACTERS - 1]}…"


def _call(server: RemoteServer, operation: str, **arguments: Any) -> dict[str, Any]:
    return remote.call_operation(server, operation, arguments, _TIMEOUT_SECONDS)
