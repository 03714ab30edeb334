"""Which agents are on this machine."""

from commonplace import errors
from commonplace.client.agents import AGENTS, AgentProgram, load_settings
from commonplace.client.install.machine import Machine


def find_installed_agents(machine: Machine) -> list[AgentProgram]:
    installed = [program for name, program in AGENTS.items() if load_settings(name).is_installed(machine)]
    if not installed:
        raise errors.NotFound(
            "No agent was found on this machine.",
            hint=f"Name one of: {', '.join(AGENTS)}.",
            agents=list(AGENTS),
        )
    return installed
