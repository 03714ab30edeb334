"""The boot pack that an agent would get now, for a person who wants to see what their agents are told.

Nothing is written: no session starts and no mail is delivered. Parts that a starting session itself creates are missing.
"""

from typing import Annotated

import msgspec
from pydantic import Field

from commonplace.arguments import AgentName
from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.operation import Reply, operation
from commonplace.rooms.knowledge.boot import prepare_topic
from commonplace.rooms.sessions import boot, store
from commonplace.rooms.sessions.agent_identity import ResolvedAgent, SessionRequest
from commonplace.rooms.sessions.boot_pack import BYTES_PER_TOKEN, fit_boot_pack
from commonplace.rooms.sessions.model import BootPack, LongText, PathText, TokenBudget


class BootPackPreview(Reply):
    pack: dict[str, object]
    tokens: int
    token_budget: int


@operation(
    "memory_preview_boot_pack",
    role="admin",
    session="optional",
    prepare=prepare_topic,
    example={"project": "shop", "agent": "ann", "task_description": "VAT in the cart"},
)
async def preview_boot_pack(
    call: Call,
    project: str,
    agent: AgentName,
    task_description: Annotated[
        LongText, Field(description="What you are about to do; the boot pack is chosen by it.")
    ] = "",
    working_directory: Annotated[
        PathText | None, Field(description="The root of your checkout; absolute paths are cut at it.")
    ] = None,
    token_budget: Annotated[
        TokenBudget, Field(description="Estimated tokens that the boot pack may have.")
    ] = 2000,
) -> BootPackPreview:
    """Show what memory_start_session would tell this agent now, and what was left out."""
    del project
    known = (await store.load_agents_by_name(call.tx, call.project, [agent], call.now)).get(agent)
    resolved = ResolvedAgent(
        agent,
        known["tier"] if known else "named",
        known["role_description"] if known else "",
        known["previous_start"] if known else None,
        is_known=known is not None,
    )
    request = SessionRequest(agent, task_description, "", working_directory or "", "", "")
    start = StartingSession(
        call.project,
        agent,
        "",
        task_description,
        working_directory or "",
        resolved.previous_start,
        token_budget=token_budget,
    )
    start = await boot.load_last_handoff_and_work(call, start)
    live = await store.list_live_sessions(call.tx, call.project, agent, call.now - SESSION_LIVE_MICROSECONDS)
    parts, _ = await boot.gather_boot_parts(call, start, request, resolved, live)
    pack = fit_boot_pack(BootPack(project=call.project, agent=agent, session_id=""), parts, token_budget)
    encoded = msgspec.json.encode(pack)
    return BootPackPreview(
        pack=msgspec.json.decode(encoded),
        tokens=-(-len(encoded) // BYTES_PER_TOKEN),
        token_budget=token_budget,
    )
