"""What agents used today, as their transcripts tell it: tokens, cost where the program writes it down, context.

The figures are as old as the last upload of a transcript. What tokens cost is not computed: prices differ by contract.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from commonplace.activity import shorten_session
from commonplace.call import Call
from commonplace.clock import DAY
from commonplace.operation import Reply, operation
from commonplace.rooms.archives import study_store
from commonplace.rooms.archives.transcripts import list_projects_of_archives
from commonplace.rooms.backlog.model import ProjectOrAll
from commonplace.store.database import Row
from commonplace.transcripts.archive.study import decode_progress
from commonplace.transcripts.state import TokenCounts, TokenUse

_MAX_TRANSCRIPTS = 300
_MILLION = 1_000_000


class UsedTokens(Reply):
    """Of today (UTC). `cached_tokens` were read from the model's cache; `cost` is in dollars, 0 if no program wrote it down."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0


class AgentTokenUse(UsedTokens):
    """`context_tokens` is the size of the last prompt, `context_window` what the model takes, where it is known."""

    project: str = ""
    agent: str = ""
    session: str = ""
    tool: str = ""
    model: str = ""
    context_tokens: int = 0
    context_window: int = 0


class TokenUsePage(Reply):
    """`total` is over all transcripts of today; `agents` are those whose transcript shows which session it is of."""

    total: UsedTokens
    transcripts: int
    agents: list[AgentTokenUse]


@operation("memory_list_token_use", role="readonly", session="optional", example={"project": "shop"})
async def list_token_use(call: Call, project: ProjectOrAll | None = None) -> TokenUsePage:
    """What agents used today: tokens, cost where their program writes it down, and how full their context is."""
    today = call.now // DAY
    projects = await list_projects_of_archives(call, project)
    rows = await study_store.list_studies_since(call.tx, projects, today * DAY, _MAX_TRANSCRIPTS)
    uses = [(row, decode_progress(bytes(row["state"])).token_use) for row in rows]
    counts = [use.by_day.get(today, TokenCounts()) for _, use in uses]
    by_session: dict[tuple[str, str], list[tuple[Row, TokenUse]]] = defaultdict(list)
    for row, use in uses:
        if row["agent"]:
            by_session[row["project"], row["agent_session"]].append((row, use))
    return TokenUsePage(
        total=UsedTokens(**_format_counts(counts)),
        transcripts=len(rows),
        agents=[_build_agent(found, today) for found in by_session.values()],
    )


def _build_agent(found: list[tuple[Row, TokenUse]], today: int) -> AgentTokenUse:
    """A session may have several transcripts; the newest is the first, and tells of the context."""
    row, latest = found[0]
    return AgentTokenUse(
        **_format_counts(use.by_day.get(today, TokenCounts()) for _, use in found),
        project=row["project"],
        agent=row["agent"],
        session=shorten_session(row["agent_session"]),
        tool=row["tool"],
        model=latest.model,
        context_tokens=latest.context_tokens,
        context_window=latest.context_window,
    )


def _format_counts(counts: Iterable[TokenCounts]) -> dict[str, Any]:
    total = sum(counts, TokenCounts())
    counted = {
        "input_tokens": total.input,
        "output_tokens": total.output,
        "cached_tokens": total.cached,
    }
    return counted | ({"cost": round(total.cost / _MILLION, 4)} if total.cost else {})
