"""Every agent that can be set up, in the order in which they are shown."""

from commonplace import errors
from commonplace.client.agents.claude import settings as claude
from commonplace.client.agents.codex import settings as codex
from commonplace.client.agents.cursor import settings as cursor
from commonplace.client.agents.gemini import settings as gemini
from commonplace.client.agents.opencode import settings as opencode
from commonplace.client.agents.vscode import settings as vscode
from commonplace.client.agents.windsurf import settings as windsurf
from commonplace.client.install.agent import Agent
from commonplace.client.install.machine import Machine

AGENTS = {each.AGENT.name: each.AGENT for each in (claude, codex, gemini, cursor, vscode, windsurf, opencode)}


def found(machine: Machine) -> list[Agent]:
    """The agents that are on this machine."""
    there = [agent for agent in AGENTS.values() if agent.found(machine)]
    if not there:
        raise errors.NotFound(
            "No agent was found on this machine.", hint=f"Name one: {', '.join(AGENTS)}.", agents=list(AGENTS)
        )
    return there
