"""`commonplace status`: whether the server runs, active sessions and locks."""

import argparse
import os

from commonplace import config
from commonplace.beacon import read_beacon
from commonplace.cli import operation_call
from commonplace.client import remote


def run(arguments: argparse.Namespace) -> int:
    server = None if arguments.data or arguments.store else _find_agents_server()
    health = operation_call.call_operation("memory_health", {}, arguments, server)
    print(f"Commonplace {health['version']} {_describe_place(arguments, server)}")
    print(f"store     {health['store']['kind']}, {health['store'].get('latency_ms', 0)} ms")
    print(f"sessions  {health.get('active_sessions', 0)} active")
    print(f"locks     {health.get('active_locks', 0)} held")
    for project in operation_call.call_operation("memory_list_projects", {}, arguments, server).get(
        "projects", []
    ):
        seen = project.get("last_activity", "never")
        print(f"project   {project['project']}: {project.get('active_sessions', 0)} active, last {seen}")
    return 0


def _find_agents_server() -> remote.RemoteServer | None:
    """The server that the environment or config.toml names, which this machine's agents use."""
    named = os.environ.get("COMMONPLACE_URL") or remote.read_configuration().get("url")
    return remote.find_server() if named else None


def _describe_place(arguments: argparse.Namespace, server: remote.RemoteServer | None) -> str:
    if server:
        return f"at {server.url}"
    beacon = read_beacon(config.read_settings({"data": arguments.data, "store": arguments.store}).data)
    return f"at {beacon['url']} (pid {beacon['pid']})" if beacon else "not running; read from the data folder"
