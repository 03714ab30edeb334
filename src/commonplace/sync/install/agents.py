"""Every agent that can be set up, in the order in which they are shown."""

from commonplace import errors
from commonplace.sync.install import claude, codex, cursor, gemini, opencode, vscode, windsurf
from commonplace.sync.install.agent import Agent
from commonplace.sync.install.machine import Machine

AGENTS = {each.AGENT.name: each.AGENT for each in (claude, codex, gemini, cursor, vscode, windsurf, opencode)}


def found(machine: Machine) -> list[Agent]:
    """The agents that are on this machine."""
    there = [agent for agent in AGENTS.values() if agent.found(machine)]
    if not there:
        raise errors.NotFound(
            "No agent was found on this machine.", hint=f"Name one: {', '.join(AGENTS)}.", agents=list(AGENTS)
        )
    return there
