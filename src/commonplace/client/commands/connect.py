"""`commonplace connect`: add the server to an agent's settings, or print the entry."""

import argparse
import sys
from collections.abc import Mapping, Sequence

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
    own_key,
)
from commonplace.client.install.agent_settings import Scope
from commonplace.client.install.changes import RequestedEdit
from commonplace.client.install.machine import Machine
from commonplace.client.link.remote import RemoteServer


def run(arguments: argparse.Namespace) -> int:
    this_machine = machine.this_machine()
    scope: Scope = "project" if arguments.project_scope else "user"
    server = own_key.add_local_token(client_config.choose_server(arguments.url, arguments.key))
    if not arguments.print and (key := own_key.create_missing_key(arguments, server)):
        arguments.key, server = key, server._replace(key=key)
    toolsets = client_config.choose_toolsets(arguments.toolsets, arguments.url)
    chosen = dict.fromkeys(
        _choose_agents(arguments, this_machine), client_config.choose_view(server, toolsets)
    )
    if arguments.print:
        _print_entries(chosen, this_machine, scope)
        return 0
    if not arguments.force:
        connection_test.require_connections(chosen.values())
    if arguments.project_scope:
        folder = this_machine.project_folder
        wanted = client_config.plan_project_edits(server, arguments.url, arguments.key, folder)
    else:
        wanted = client_config.plan_config_edits(server, arguments.url, arguments.key, toolsets=toolsets)
    wanted += [
        request
        for agent, own_server in chosen.items()
        for request in _connection_edits(agent, this_machine, own_server, scope)
    ]
    installed = install_record.load_record()
    changed = changes.plan_additions(installed, wanted)
    if arguments.dry_run:
        print("".join(change.render_diff([server.key]) for change in changed) or "Nothing would change.")
        return 0
    changes.apply_changes(changed, installed, [server.key])
    _print_report(chosen, changed, scope)
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


def _print_entries(chosen: Mapping[AgentProgram, RemoteServer], this_machine: Machine, scope: Scope) -> None:
    """Print the entry to standard output and the file's path to standard error."""
    for agent, server in chosen.items():
        text: bytes | None = None
        for request in _connection_edits(agent, this_machine, server, scope):
            text, _ = documents.apply_edit(request.edit.path, text, request.edit, None)
            path = request.edit.path
        print(f"{agent.title}: {path}", file=sys.stderr)
        print((text or b"").decode(), end="")


def _print_report(
    chosen: Mapping[AgentProgram, RemoteServer], changed: Sequence[changes.FileChange], scope: Scope
) -> None:
    for change in changed:
        print(f"Wrote {change.path}")
    for agent, server in chosen.items():
        print(f"{agent.title}: {'connected' if changed else 'already connected'} to {server.mcp_url}.")
    if scope == "project" and any(server.key for server in chosen.values()):
        print("The key is not written to project settings: set COMMONPLACE_KEY where the agent runs.")
