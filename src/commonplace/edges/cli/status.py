"""commonplace status: is it running, who is there, what is locked."""

import argparse

from commonplace import config
from commonplace.edges.beacon import beacon
from commonplace.edges.cli import client


def run(arguments: argparse.Namespace) -> int:
    health = client.call("memory_health", {}, arguments)
    settings = config.read({"data": arguments.data, "store": arguments.store})
    lit = beacon(settings.data)
    where = f"at {lit['url']} (pid {lit['pid']})" if lit else "not running; read from the data folder"
    print(f"Commonplace {health['version']} {where}")
    print(f"store     {health['store']['kind']}, {health['store'].get('latency_ms', 0)} ms")
    print(f"sessions  {health.get('active_sessions', 0)} active")
    print(f"locks     {health.get('active_locks', 0)} held")
    for project in client.call("memory_list_projects", {}, arguments).get("projects", []):
        seen = project.get("last_activity", "never")
        print(f"project   {project['project']}: {project.get('active_sessions', 0)} active, last {seen}")
    return 0
