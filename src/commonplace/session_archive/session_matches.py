"""A search over archived sessions and its matches, for both kinds of search: by meaning and by scanning lines."""

import msgspec

from commonplace.operation import Reply

SNIPPET_CHARACTERS = 320


class SessionMatch(Reply):
    workspace_id: str
    session_id: str
    line: int
    role: str
    snippet: str
    at: str = ""
    relevance: float | None = None


class SessionMatches(Reply):
    matches: list[SessionMatch]
    truncated: bool
    message: str = ""


class SessionQuery(msgspec.Struct, frozen=True):
    query: str
    workspace: str | None
    projects: list[str]
    since: int
    until: int
    limit: int
    per_session: int
