"""`/work.json` beside `/work`: the reply of the operation that the view shows, for scripts and for curiosity.

The filters of the view's address are the operation's arguments. Without a project it is of the same ones as the view: of all,
or of the one that was active last. There is no second path: the call goes through call.run.
"""

from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl

from commonplace import errors
from commonplace.access import ALL_PROJECTS, SHARED, Caller
from commonplace.call import Calls
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import Route

VIEW_OPERATIONS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "now": ("memory_get_live_state", {}),
    "work": ("memory_list_backlog", {}),
    "knowledge": ("memory_list_documents", {}),
    "messages": ("memory_list_threads", {}),
    "sessions": ("memory_list_transcripts", {}),
    "code": ("memory_list_functions", {}),
    "time": ("memory_list_events", {}),
    "admin": ("memory_admin", {"action": "audit_log"}),
}
"""The operation of each view, and the arguments that the view fixes."""
_VIEWS_OF_ONE_PROJECT: Final = ("knowledge", "messages", "code")
_VIEWS_OF_NO_PROJECT: Final = ("admin",)
_MAX_LISTED_PROJECTS: Final = 100
_MAX_FIELDS: Final = 50
_MAX_DIGITS: Final = 15


class ViewJson:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def routes(self) -> dict[str, dict[str, Route]]:
        return {f"/{view}.json": {"GET": partial(self.send_reply, view)} for view in VIEW_OPERATIONS}

    async def send_reply(self, view: str, request: Request, response: Response) -> None:
        name, fixed = VIEW_OPERATIONS[view]
        arguments = _parse_arguments(request.query) | fixed
        if "project" not in arguments and view not in _VIEWS_OF_NO_PROJECT:
            arguments["project"] = await self._choose_project(view, request.caller)
        answer = await self._calls.run(name, arguments, request.caller)
        await response.send(200, answer.to_text())

    async def _choose_project(self, view: str, caller: Caller) -> str:
        if view not in _VIEWS_OF_ONE_PROJECT:
            return ALL_PROJECTS
        answer = await self._calls.run("memory_list_projects", {"limit": _MAX_LISTED_PROJECTS}, caller)
        listed = answer.reply.projects
        chosen = next((row for row in listed if row.active_sessions), next(iter(listed), None))
        return chosen.project if chosen else SHARED


def _parse_arguments(query: bytes) -> dict[str, Any]:
    """A field that is repeated is a list; a field that is a number is sent as one."""
    try:
        pairs = parse_qsl(query.decode(), max_num_fields=_MAX_FIELDS, strict_parsing=bool(query))
    except ValueError:
        raise errors.Invalid("The query is not valid.", hint="Send ?name=value&name=value.") from None
    values: dict[str, list[Any]] = {}
    for name, text in pairs:
        values.setdefault(name, []).append(_parse_value(text))
    return {name: found[0] if len(found) == 1 else found for name, found in values.items()}


def _parse_value(text: str) -> Any:
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else text
