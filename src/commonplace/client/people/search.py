"""`commonplace search` and `show`: find what the team knows, and open it."""

import argparse
from typing import Any

from commonplace.client.people import terminal
from commonplace.client.people.person import CallOperation, choose_project, find_item
from commonplace.client.people.terminal import TableRow

_FACTS = {"type": "type", "status": "status", "project": "project", "author": "by", "updated": "changed"}
_TITLES = ("ID", "TYPE", "PROJECT", "AGE", "TITLE")


def run(arguments: argparse.Namespace, call: CallOperation) -> int:
    project = choose_project(arguments)
    values: dict[str, Any] = {"query": arguments.query, "limit": arguments.limit}
    if arguments.type:
        values["memory_types"] = arguments.type
    if project is None:
        reply = call("memory_search_global", values)
    else:
        reply = call("memory_query", values | {"project": project, "detail": "snippet"})
    if arguments.json:
        terminal.print_json(reply)
        return 0
    terminal.print_table(_TITLES, [_build_row(result) for result in reply["results"]])
    if not reply["results"]:
        _print_nothing_found(reply, project)
    return 0


def _build_row(result: dict[str, Any]) -> TableRow:
    snippet = result.get("content") or result.get("content_preview") or result.get("snippet") or ""
    cells = (
        result["id"],
        result.get("type") or result.get("kind", ""),
        result.get("project") or result.get("source", ""),
        result.get("age", ""),
        result.get("title", ""),
    )
    return TableRow(cells, {"": snippet})


def _print_nothing_found(reply: dict[str, Any], project: str | None) -> None:
    terminal.print_note(f"Nothing found in {project}." if project else "Nothing found.")
    if titles := reply.get("nearest_titles"):
        terminal.print_note(f"  Nearest: {'; '.join(map(terminal.clean_line, titles))}")
    if project:
        terminal.print_note("  Search every project with --all.")


def run_show(arguments: argparse.Namespace, call: CallOperation) -> int:
    item = find_item(
        call, arguments.id, choose_project(arguments), looks_elsewhere=arguments.all or not arguments.project
    )
    if arguments.json:
        terminal.print_json(item)
        return 0
    print(terminal.clean_line(str(item.get("title", ""))))
    facts = [f"{label} {item[name]}" for name, label in _FACTS.items() if item.get(name)]
    print(terminal.clean_line(f"{item['id']}: {', '.join(facts)}"))
    print(f"\n{terminal.clean_text(str(item.get('content', '')))}")
    return 0
