"""`commonplace status`: which server is used and why, active sessions and locks."""

import argparse

from commonplace.cli import operation_call
from commonplace.client.server_choice import ServerChoice


def run(arguments: argparse.Namespace) -> int:
    chosen, *overridden = operation_call.list_server_choices(arguments)
    health = operation_call.call_operation("memory_health", {}, arguments)
    location = f"at {chosen.server.url}" if chosen.server else "not running; read from the data folder"
    print(f"Commonplace {health['version']} {location}")
    print(f"server    {_describe_choice(chosen)}")
    for choice in overridden:
        if choice.server:
            print(f"          overrides {_describe_choice(choice)}")
    print(f"store     {health['store']['kind']}, {health['store'].get('latency_ms', 0)} ms")
    print(f"sessions  {health.get('active_sessions', 0)} active")
    print(f"locks     {health.get('active_locks', 0)} held")
    for project in operation_call.call_operation("memory_list_projects", {}, arguments).get("projects", []):
        last_activity = project.get("last_activity", "never")
        print(
            f"project   {project['project']}: {project.get('active_sessions', 0)} active, last {last_activity}"
        )
    return 0


def _describe_choice(choice: ServerChoice) -> str:
    if choice.server is None:
        return f"none; reading {choice.named_by}"
    return f"{choice.server.url}, named by {choice.named_by}"
