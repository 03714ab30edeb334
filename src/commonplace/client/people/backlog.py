"""`commonplace backlog`: list the tasks of a project, add one, complete one."""

import argparse
from collections.abc import Callable
from typing import Any

from commonplace import errors
from commonplace.client.people import terminal
from commonplace.client.people.person import (
    CallOperation,
    choose_project,
    find_item,
    find_own_name,
    open_session,
    require_project,
)
from commonplace.client.people.terminal import TableRow

_TITLES = ("ID", "PRIORITY", "STATUS", "OWNER", "AGE")
_SHOWN_OR_LONG = frozenset(
    [
        "id",
        "priority",
        "status",
        "assigned_to",
        "age",
        "title",
        "project",
        "description",
        "updated",
        "created_by",
        "claimed_until",
        "was_claimed_by",
        "was_claimed_until",
        "deferred_reason",
        "resolution",
        "completed_by",
        "completed_at",
    ]
)
_EVERY_PROJECT = "*"


def run(arguments: argparse.Namespace, call: CallOperation) -> int:
    return _ACTS[arguments.act](arguments, call)


def _list_items(arguments: argparse.Namespace, call: CallOperation) -> int:
    project = choose_project(arguments)
    values = {
        "project": project or _EVERY_PROJECT,
        "status": arguments.status,
        "priority": arguments.priority,
        "assigned_to": find_own_name(call) if arguments.mine else arguments.assigned_to,
        "tag": arguments.tag,
        "milestone": arguments.milestone,
        "ready": arguments.ready,
        "include_done": arguments.done,
        "limit": arguments.limit,
    }
    reply = call("memory_list_backlog", {name: value for name, value in values.items() if value is not None})
    if arguments.json:
        terminal.print_json(reply)
        return 0
    more = list_more_fields(reply["items"])
    titles = (*_TITLES, *(name.upper() for name in more), "TITLE")
    terminal.print_table(
        titles, [_build_row(item, more, with_project=not project) for item in reply["items"]]
    )
    if not reply["items"]:
        where = f" in {project}" if project else ""
        terminal.print_note(f"No items{where}. Add one: commonplace backlog add TITLE")
    elif reply["total"] > reply["count"]:
        terminal.print_note(f"{reply['count']} of {reply['total']} items; see more with --limit.")
    return 0


def list_more_fields(items: list[dict[str, Any]]) -> list[str]:
    """The short fields that some of these items have, beside those that every table shows."""
    fields = {name: None for item in items for name, value in item.items() if isinstance(value, str)}
    return [name for name in fields if name not in _SHOWN_OR_LONG]


def _build_row(item: dict[str, Any], more: list[str], *, with_project: bool) -> TableRow:
    title = f"{item['project']}: {item['title']}" if with_project else item["title"]
    status = "blocked" if item.get("blocked_by") and item["status"] == "open" else item["status"]
    cells = (item["id"], item["priority"], status, item.get("assigned_to") or "-", item["age"])
    return TableRow((*cells, *(str(item.get(name) or "-") for name in more), title))


def _add_item(arguments: argparse.Namespace, call: CallOperation) -> int:
    project = require_project(arguments)
    values = {
        "title": arguments.title,
        "description": arguments.description,
        "priority": arguments.priority,
        "assigned_to": arguments.assigned_to,
        "tags": arguments.tags,
        "milestone": arguments.milestone,
        "depends_on": arguments.depends_on,
    }
    with open_session(call, project) as call_in_session:
        reply = call_in_session(
            "memory_add_backlog_item", {name: value for name, value in values.items() if value is not None}
        )
    if arguments.json:
        terminal.print_json(reply)
    else:
        print(f"{reply['id']}\t{terminal.clean_line(arguments.title)}")
    return 0


def _complete_item(arguments: argparse.Namespace, call: CallOperation) -> int:
    project = choose_project(arguments) or str(find_item(call, arguments.id, None)["project"])
    values: dict[str, Any] = {"item_id": arguments.id, "wont_do": arguments.wont_do}
    if arguments.resolution:
        values["resolution"] = arguments.resolution
    try:
        with open_session(call, project) as call_in_session:
            reply = call_in_session("memory_complete_backlog_item", values)
    except errors.NotFound as refusal:
        raise errors.NotFound(refusal.message, hint="Find its id with: commonplace backlog --done") from None
    if arguments.json:
        terminal.print_json(reply)
        return 0
    print(f"{reply['id']}\t{reply['status']}\t{terminal.clean_line(reply['title'])}")
    if unblocked := reply.get("unblocked"):
        terminal.print_note(f"Unblocked: {', '.join(map(str, unblocked))}")
    return 0


_ACTS: dict[str, Callable[[argparse.Namespace, CallOperation], int]] = {
    "list": _list_items,
    "add": _add_item,
    "done": _complete_item,
}
