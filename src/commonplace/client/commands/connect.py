"""`commonplace connect`: add the server to an agent's settings, or print the entry."""

import argparse
import sys
from collections.abc import Sequence

from commonplace import errors
from commonplace.client.agents import AGENTS, AgentProgram, load_settings
from commonplace.client.install import (
    changes,
    client_config,
    connection_test,
    documents,
    install_record,
    installed_agents,
    machine,
)
from commonplace.client.install.agent_settings import Scope
from commonplace.client.install.changes import RequestedEdit
from commonplace.client.install.machine import Machine
from commonplace.client.remote import RemoteServer


def run(arguments: argparse.Namespace) -> int:
    this_machine = machine.this_machine()
    scope: Scope = "project" if arguments.project_scope else "user"
    server = client_config.choose_server(arguments.url, arguments.key, arguments.toolsets)
    chosen = _choose_agents(arguments, this_machine)
    if arguments.print:
        _print_entries(chosen, this_machine, server, scope)
        return 0
    if not arguments.force:
        connection_test.require_connection(server)
    wanted = client_config.plan_config_edits(server, arguments.url, arguments.key)
    wanted += [
        request for agent in chosen for request in _connection_edits(agent, this_machine, server, scope)
    ]
    installed = install_record.load_record()
    changed = changes.plan_additions(installed, wanted)
    if arguments.dry_run:
        print("".join(change.render_diff([server.key]) for change in changed) or "Nothing would change.")
        return 0
    changes.apply_changes(changed, installed, [server.key])
    _print_report(chosen, changed, server, scope)
    return 0


def _choose_agents(arguments: argparse.Namespace, this_machine: Machine) -> list[AgentProgram]:
    if arguments.agent != "all":
        return [AGENTS[arguments.agent]]
    agents = (
        list(AGENTS.values()) if arguments.print else installed_agents.find_installed_agents(this_machine)
    )
    return [
        agent
        for agent in agents
        if load_settings(agent.name).has_project_scope or not arguments.project_scope
    ]


def _connection_edits(
    agent: AgentProgram, this_machine: Machine, server: RemoteServer, scope: Scope
) -> list[RequestedEdit]:
    settings = load_settings(agent.name)
    if scope == "project" and not settings.has_project_scope:
        raise errors.Invalid(
            f"{agent.title} has no project settings for servers.", hint="Omit --project-scope."
        )
    return [
        RequestedEdit(edit, agent.name) for edit in settings.connection_edits(this_machine, server, scope)
    ]


def _print_entries(
    chosen: Sequence[AgentProgram], this_machine: Machine, server: RemoteServer, scope: Scope
) -> None:
    """Print the entry to standard output and the file's path to standard error."""
    for agent in chosen:
        text: bytes | None = None
        for request in _connection_edits(agent, this_machine, server, scope):
            text, _ = documents.apply_edit(request.edit.path, text, request.edit, None)
            path = request.edit.path
        print(f"{agent.title}: {path}", file=sys.stderr)
        print((text or b"").decode(), end="")


def _print_report(
    chosen: Sequence[AgentProgram], changed: Sequence[changes.FileChange], server: RemoteServer, scope: Scope
) -> None:
    for change in changed:
        print(f"Wrote {change.path}")
    names = ", ".join(agent.title for agent in chosen)
    print(f"{names}: {'connected' if changed else 'already connected'} to {server.mcp_url}.")
    if scope == "project" and server.key:
        print("The key is not written to project settings: set COMMONPLACE_KEY where the agent runs.")
