"""The replies of the live state, and how rows become them. All times are ISO 8601 in UTC."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
from pydantic import Field

from commonplace.clock import MINUTE, SECOND, iso, iso_exact
from commonplace.file_region import shorten_path, split_region
from commonplace.identity.session import shorten_session
from commonplace.operation import Reply
from commonplace.rooms.requests.model import PersonRequest
from commonplace.shortening import shorten_text
from commonplace.store.database import Row

ACTS_MINUTES = 15
RowLimit = Annotated[
    int, Field(ge=1, le=500, description="Most rows of each list; `counts` has how many there are.")
]
EventLimit = Annotated[int, Field(ge=1, le=500)]
EventKinds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=64)]],
    Field(max_length=50, description="Only events of these kinds, such as DocumentStored."),
]
EventCursor = Annotated[
    str,
    Field(
        max_length=100,
        pattern=r"^\d{1,17}-\d{1,17}$",
        description="Where to go on: `next_cursor` of the previous reply.",
    ),
]
_TEXT_CHARACTERS = 500
_REPORT = "memory_report_prevented"
_MAX_REPORT_DELAY = 5 * SECOND
_NEVER = 2**62
_PREVENTED_KINDS = {
    "memory_lock_files": "edits",
    "duplicate": "duplicates",
    "stale_token": "stale_writes",
    "conflict": "conflicts",
    "forbidden": "denials",
}
# What hooks and guards report (rooms/checkouts), beside what the server itself refused.
_REPORTED_KINDS = {
    "edit_denied": "edits",
    "command_denied": "commands",
    "commit_refused": "commits",
    "rule_fired": "rules",
    "rescue_made": "rescues",
    "conflict_predicted": "predicted_conflicts",
}
_DENIALS_BY_LEASES = ("edits", "commands")


class NeedsYou(Reply):
    """Something that waits for a person. `kind`: request, mail, blocked, question, disputed, pending_agent, idle.

    A request has its details in `request`. An idle agent has ended its turn: it is listed last and waits for nothing.
    """

    kind: str
    project: str
    id: str
    since: str
    agent: str = ""
    title: str = ""
    text: str = ""
    thread_id: str = ""
    where: str = ""
    request: PersonRequest | None = None


def rank_need(need: NeedsYou) -> int:
    """What a program waits for comes first, who has only ended a turn last."""
    return {"request": 0, "idle": 2}.get(need.kind, 1)


class AgentCard(Reply):
    """A live session. `acts` counts its agent's events in each of the last minutes, the oldest first."""

    project: str
    agent: str
    session: str
    started: str
    active: str
    task: str = ""
    status: str = ""
    branch: str = ""
    directory: str = ""
    tmux_target: str = ""
    is_subagent: bool = False
    holds: list[str] = []
    acts: list[int] = []
    last_act: str = ""
    last_act_at: str = ""


class TouchedFile(Reply):
    """A file that an agent holds (`mode` is set) or has changed.

    `region` if it holds only these lines or symbols; `lock` then names them with the file, as memory_lock_files does.
    """

    project: str
    path: str
    agent: str
    at: str
    region: str = ""
    lock: str = ""
    mode: str = ""
    reason: str = ""
    until: str = ""


class Prevented(Reply):
    kind: str
    project: str
    at: str
    operation: str
    agent: str = ""
    detail: str = ""


class LiveState(Reply):
    """`counts` is of what there is, where a limit cuts the lists: `needs_you` and `idle` together are all who wait."""

    now: str
    agent: str
    counts: dict[str, int]
    needs_you: list[NeedsYou]
    agents: list[AgentCard]
    files: list[TouchedFile]
    prevented: list[Prevented]
    prevented_counts: dict[str, int] = {}
    items: dict[str, int] = {}


class LiveCounts(Reply):
    """`agents` are live sessions; `active` are those that did something in the last minutes."""

    needs_you: int
    agents: int
    active: int
    locks: int
    prevented: int


class ListedEvent(Reply):
    project: str
    n: int
    at: str
    kind: str
    uri: str
    actor: str = ""
    body: dict[str, Any] = {}


class EventPage(Reply):
    count: int
    events: list[ListedEvent]
    next_cursor: str = ""


def short_text(text: str) -> str:
    return shorten_text(text, _TEXT_CHARACTERS)


def build_agent_cards(
    sessions: Sequence[Row], leases: Sequence[Row], acts: Sequence[Row], now: int
) -> list[AgentCard]:
    held: dict[str, list[str]] = defaultdict(list)
    for lease in leases:
        held[lease["session"]].append(shorten_path(lease["path"]))
    acts_by_agent: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for act in acts:
        acts_by_agent[act["project"], act["actor"]].append(act)
    return [
        _build_agent_card(row, held[row["id"]], acts_by_agent[row["project"], row["agent"]], now)
        for row in sessions
    ]


def _build_agent_card(row: Row, holds: list[str], acts: list[Row], now: int) -> AgentCard:
    return AgentCard(
        project=row["project"],
        agent=row["agent"],
        session=shorten_session(row["id"]),
        started=iso(row["started_at"]),
        active=iso(row["active_at"]),
        task=short_text(row["task"] if row["current_task"] is None else row["current_task"]),
        status=row["status"] or "",
        branch=row["branch"],
        directory=row["working_directory"],
        tmux_target=row["tmux_target"],
        is_subagent=bool(row["parent"]),
        holds=holds,
        acts=_count_per_minute([act["at"] for act in acts], now) if acts else [],
        last_act=acts[0]["kind"] if acts else "",
        last_act_at=iso(acts[0]["at"]) if acts else "",
    )


def _count_per_minute(times: Iterable[int], now: int) -> list[int]:
    counts = [0] * ACTS_MINUTES
    for at in times:
        minutes_ago = min(max(now - at, 0) // MINUTE, ACTS_MINUTES - 1)
        counts[ACTS_MINUTES - 1 - minutes_ago] += 1
    return counts


def leave_out_held(touched: Sequence[Row], leases: Sequence[Row]) -> list[Row]:
    """A file that its holder has also changed is listed once."""
    held = {(row["project"], split_region(row["path"])[0], row["agent"]) for row in leases}
    return [row for row in touched if (row["project"], row["path"], row["agent"]) not in held]


def build_files(leases: Sequence[Row], changed: Sequence[Row], limit: int) -> list[TouchedFile]:
    """Held files first."""
    return [
        *(build_held_file(row) for row in leases[:limit]),
        *(_build_changed_file(row) for row in changed[: max(0, limit - len(leases))]),
    ]


def _build_changed_file(row: Row) -> TouchedFile:
    return TouchedFile(project=row["project"], path=row["path"], agent=row["agent"], at=iso(row["at"]))


def build_held_file(row: Row) -> TouchedFile:
    path, region = split_region(row["path"])
    return TouchedFile(
        project=row["project"],
        path=path,
        region=" ".join(filter(None, (region.lines, ", ".join(region.symbols)))) if region else "",
        lock=shorten_path(row["path"]) if region else "",
        agent=row["agent"],
        at=iso(row["granted_at"]),
        mode=row["mode"],
        reason=row["reason"],
        until=iso(row["expires_at"]),
    )


def build_prevented_list(rows: Sequence[Row]) -> list[Prevented]:
    """What was prevented, newest first, each once: before a hook reports a denial, its lock was refused."""
    prevented: list[Prevented] = []
    denied_at: dict[tuple[str, str], int] = {}
    for row in rows:
        agent = (row["project"], row["agent"])
        is_lock = row["operation"] == "memory_lock_files"
        if is_lock and denied_at.pop(agent, _NEVER) - row["at"] < _MAX_REPORT_DELAY:
            continue
        entry = _build_prevented(row)
        if row["operation"] == _REPORT and entry.kind in _DENIALS_BY_LEASES:
            denied_at[agent] = row["at"]
        prevented.append(entry)
    return prevented


def _build_prevented(row: Row) -> Prevented:
    reported, _, _ = row["detail"].partition(":")
    kind = (
        _REPORTED_KINDS.get(reported, reported)
        if row["operation"] == _REPORT and row["outcome"] == "ok"
        else _PREVENTED_KINDS.get(row["outcome"]) or _PREVENTED_KINDS[row["operation"]]
    )
    return Prevented(
        kind=kind,
        project=row["project"],
        at=iso(row["at"]),
        operation=row["operation"],
        agent=row["agent"],
        detail=row["detail"],
    )


def build_event(row: Row) -> ListedEvent:
    return ListedEvent(
        project=row["project"],
        n=row["n"],
        at=iso_exact(row["at"]),
        kind=row["kind"],
        uri=row["uri"],
        actor=row["actor"],
        body=msgspec.json.decode(row["body"]),
    )
