"""`commonplace status`: which server is used and why, active sessions and locks."""

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from commonplace.cli import operation_call
from commonplace.client.link import remote
from commonplace.client.link.server_choice import ServerChoice
from commonplace.client.people import watch


def run(arguments: argparse.Namespace) -> int:
    if arguments.watch:
        return watch.run(arguments, partial(_call, arguments))
    chosen, *overridden = operation_call.list_server_choices(arguments)
    health = operation_call.call_operation("memory_health", {}, arguments)
    location = f"at {chosen.server.url}" if chosen.server else "not running; read from the data folder"
    print(f"Commonplace {health['version']} {location}")
    print(f"server    {_describe_choice(chosen)}")
    for choice in overridden:
        if choice.server:
            print(f"          overrides {_describe_choice(choice)}")
    _print_access(arguments)
    print(f"store     {health['store']['kind']}, {health['store'].get('latency_ms', 0)} ms")
    print(f"sessions  {health.get('active_sessions', 0)} active")
    print(f"locks     {health.get('active_locks', 0)} held")
    for project in operation_call.call_operation("memory_list_projects", {}, arguments).get("projects", []):
        last_activity = project.get("last_activity", "never")
        print(
            f"project   {project['project']}: {project.get('active_sessions', 0)} active, last {last_activity}"
        )
    return 0


def _print_access(arguments: argparse.Namespace) -> None:
    """Who we are to that server, and whether the agents of this folder use it too."""
    status = operation_call.call_operation("memory_admin", {"action": "auth_status"}, arguments)
    who = "the local operator" if status.get("operator") else status.get("agent") or status.get("key") or ""
    projects = status.get("projects", [])
    scope = "all projects" if "*" in projects else ", ".join(projects) or "no project"
    print(f"access    {status['role']}{f' as {who}' if who else ''}; {scope}; keys {status['auth']}")
    try:
        remote.find_server(folder=Path.cwd())
    except remote.ServerUnknown as unknown:
        print(f"agents    send nothing: {unknown}")


def _describe_choice(choice: ServerChoice) -> str:
    if choice.server is None:
        return f"none; reading {choice.named_by}"
    return f"{choice.server.url}, named by {choice.named_by}"


def _call(arguments: argparse.Namespace, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return operation_call.call_operation(name, values, arguments)
