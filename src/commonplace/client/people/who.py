"""`commonplace who`: the agents that work now, what they do, their leases and their claims."""

import argparse
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from commonplace.client.people import terminal
from commonplace.client.people.person import CallOperation, choose_project, list_projects
from commonplace.client.people.terminal import TableRow

_TITLES = ("AGENT", "PROJECT", "STATUS", "ACTIVE", "DOING")
_MAX_ITEMS = 100


def run(arguments: argparse.Namespace, call: CallOperation) -> int:
    project = choose_project(arguments)
    names = [project] if project else _list_project_names(call, include_idle=arguments.idle)
    agents = [agent for name in names for agent in _describe_agents(call, name, include_idle=arguments.idle)]
    if arguments.json:
        terminal.print_json({"agents": agents})
        return 0
    terminal.print_table(_TITLES, [_build_row(agent) for agent in agents])
    if not agents:
        where = f"in {project}" if project else "in any project"
        terminal.print_note(f"No agent is working {where}.")
        if project:
            terminal.print_note("  Look in every project with --all, or at all known agents with --idle.")
    return 0


def _list_project_names(call: CallOperation, *, include_idle: bool) -> list[str]:
    return [item["project"] for item in list_projects(call) if item["active_sessions"] or include_idle]


def _describe_agents(call: CallOperation, project: str, *, include_idle: bool) -> list[dict[str, Any]]:
    named = {"project": project}
    statuses = call("memory_get_agent_status", named)["agents"]
    active = call("memory_get_active_work", named | {"limit": _MAX_ITEMS})["currently_active"]
    work_by_agent = {entry["agent"]: entry for entry in active}
    locks = _group_by(call("memory_list_locks", named)["locks"], "held_by")
    claimed = call("memory_list_backlog", named | {"status": "in_progress", "limit": _MAX_ITEMS})["items"]
    claims = _group_by(claimed, "assigned_to")
    return [
        _describe_agent(status, work_by_agent.get(name, {}), locks[name], claims[name])
        for status in statuses
        if (name := status["instance"]) and (status["sessions"] or include_idle)
    ]


def _group_by(items: Iterable[dict[str, Any]], field: str) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for item in items:
        groups[item.get(field, "")].append(item)
    return groups


def _describe_agent(
    status: dict[str, Any], work: dict[str, Any], locks: list[dict[str, Any]], claims: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "agent": status["instance"],
        "project": status["project"],
        "status": "stale" if status.get("stale") else status["status"],
        "last_active": status.get("last_heartbeat", ""),
        "task": status.get("current_task") or work.get("task", ""),
        "working_on": work.get("working_on", []),
        "locks": [
            {name: lock[name] for name in ("file", "reason", "expires_at") if name in lock}
            for lock in sorted(locks, key=lambda lock: str(lock["file"]))
        ],
        "claims": [{"id": claim["id"], "title": claim["title"]} for claim in claims],
    }


def _build_row(agent: dict[str, Any]) -> TableRow:
    doing = dict.fromkeys(text for text in (agent["task"], *agent["working_on"]) if text)
    cells = (
        agent["agent"],
        agent["project"],
        agent["status"],
        _format_since(agent["last_active"]),
        "; ".join(doing),
    )
    details = {
        "locks": ", ".join(lock["file"] for lock in agent["locks"]),
        "claims": ", ".join(f"{claim['title']} ({claim['id']})" for claim in agent["claims"]),
    }
    return TableRow(cells, details)


def _format_since(iso: str) -> str:
    """How long ago: 12s, 5min, 3h, 2d."""
    if not iso:
        return ""
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(iso)).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
