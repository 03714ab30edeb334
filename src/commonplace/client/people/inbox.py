"""`commonplace inbox`: mail of an agent or of the person of the key. It stays unread unless --mark-read is given."""

import argparse
import shlex
from typing import Any

from commonplace import errors
from commonplace.client.people import terminal
from commonplace.client.people.person import (
    CallOperation,
    choose_project,
    find_own_name,
    list_projects,
    open_session,
)
from commonplace.client.people.terminal import TableRow

_TITLES = ("ID", "FROM", "AGE", "PRIORITY", "SUBJECT")


def run(arguments: argparse.Namespace, call: CallOperation) -> int:
    name = arguments.agent or find_own_name(call)
    chosen = choose_project(arguments)
    projects = [chosen] if chosen else [item["project"] for item in list_projects(call)]
    pages = [_read_page(arguments, call, project, name) for project in projects]
    messages = [message for page in pages for message in page["messages"]]
    if arguments.json:
        unread = sum(page["unread"] for page in pages)
        terminal.print_json({"agent": name, "unread": unread, "messages": messages})
        return 0
    terminal.print_table(_TITLES, [_build_row(message) for message in messages])
    if not messages:
        terminal.print_note(f"No {'' if arguments.read else 'unread '}mail for {name}.")
        terminal.print_note("  `commonplace who` lists agents; read an agent's mail with --agent NAME.")
    elif any(page.get("next_cursor") for page in pages):
        terminal.print_note("There is more: raise --limit.")
    return 0


def _read_page(arguments: argparse.Namespace, call: CallOperation, project: str, name: str) -> dict[str, Any]:
    values = {"limit": arguments.limit, "include_delivered": arguments.read}
    if not arguments.mark_read:
        try:
            return call("memory_list_inbox", values | {"project": project, "agent": name})
        except errors.Forbidden as refusal:
            named = shlex.join(["--name", name, "--agent", name, "--projects", project])
            bind = f"commonplace key create {named}"
            raise errors.Forbidden(
                refusal.message, hint=f"Name another agent with --agent, or ask an owner for its key: {bind}"
            ) from None
    with open_session(call, project) as call_in_session:
        return call_in_session("memory_get_messages", values)


def _build_row(message: dict[str, Any]) -> TableRow:
    cells = (
        message["id"],
        message["from"],
        message["age"],
        message["priority"],
        message.get("subject") or message["category"],
    )
    return TableRow(cells, body=message.get("message", ""))
