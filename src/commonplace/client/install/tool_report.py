"""Says which agents are offered fewer tools than the server has, and how to change that."""

from collections.abc import Mapping

from commonplace.client.agents import AgentProgram
from commonplace.client.link.remote import RemoteServer


def describe_fewer_tools(
    chosen: Mapping[AgentProgram, RemoteServer], tools: Mapping[str, int], *, is_chosen: bool
) -> str:
    """Empty where every agent gets all tools, or the user chose them."""
    limited = [] if is_chosen else [agent for agent, server in chosen.items() if server.mcp_view]
    if not limited:
        return ""
    view = chosen[limited[0]].mcp_view
    names = ", ".join(agent.title for agent in limited)
    count = f"{tools[view]} tools" if view in tools else "the tools"
    return (
        f"{names}: {count} of {view.removeprefix('/x/')}, because every tool is shown to the model."
        " For all tools: --toolsets all"
    )
