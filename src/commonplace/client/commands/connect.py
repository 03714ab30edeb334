"""commonplace connect: write the server into an agent's settings, or print what belongs there."""

import argparse
import sys
from collections.abc import Sequence

from commonplace import errors
from commonplace.client.agents import AGENTS, AgentProgram, load_settings
from commonplace.client.install import agents, changes, documents, machine, record, settings
from commonplace.client.install.agent_settings import Scope
from commonplace.client.install.changes import Wanted
from commonplace.client.install.machine import Machine
from commonplace.client.remote import RemoteServer


def run(arguments: argparse.Namespace) -> int:
    here = machine.here()
    scope: Scope = "project" if arguments.project_scope else "user"
    server = settings.chosen(arguments.url, arguments.key)
    chosen = _chosen(arguments, here)
    if arguments.print:
        _print(chosen, here, server, scope)
        return 0
    wanted = settings.wanted(server, arguments.url, arguments.key)
    wanted += [each for agent in chosen for each in _entry(agent, here, server, scope)]
    installed = record.load()
    changed = changes.additions(installed, wanted)
    if arguments.dry_run:
        print("".join(change.diff([server.key]) for change in changed) or "Nothing would change.")
        return 0
    changes.carry_out(changed, installed, [server.key])
    _report(chosen, changed, server, scope)
    return 0


def _chosen(arguments: argparse.Namespace, here: Machine) -> list[AgentProgram]:
    if arguments.agent != "all":
        return [AGENTS[arguments.agent]]
    every = list(AGENTS.values()) if arguments.print else agents.find_installed_agents(here)
    return [
        agent for agent in every if load_settings(agent.name).has_project_scope or not arguments.project_scope
    ]


def _entry(agent: AgentProgram, here: Machine, server: RemoteServer, scope: Scope) -> list[Wanted]:
    of_agent = load_settings(agent.name)
    if scope == "project" and not of_agent.has_project_scope:
        raise errors.Invalid(
            f"{agent.title} reads no servers from a project.", hint="Leave out --project-scope."
        )
    return [Wanted(wish, agent.name) for wish in of_agent.connection_edits(here, server, scope)]


def _print(chosen: Sequence[AgentProgram], here: Machine, server: RemoteServer, scope: Scope) -> None:
    """What belongs into the file on standard output, which file on standard error."""
    for agent in chosen:
        text: bytes | None = None
        for each in _entry(agent, here, server, scope):
            text, _ = documents.fulfil(each.wish.path, text, each.wish, None)
            path = each.wish.path
        print(f"{agent.title}: {path}", file=sys.stderr)
        print((text or b"").decode(), end="")


def _report(
    chosen: Sequence[AgentProgram], changed: Sequence[changes.Change], server: RemoteServer, scope: Scope
) -> None:
    for change in changed:
        print(f"Wrote {change.path}")
    names = ", ".join(agent.title for agent in chosen)
    print(f"{names}: {'connected' if changed else 'already connected'} to {server.url}/mcp.")
    if scope == "project" and server.key:
        print("The key is not in the project's files: set COMMONPLACE_KEY where the agent runs.")
