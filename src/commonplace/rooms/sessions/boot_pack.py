"""The boot pack: the sections of all rooms and what depends on the starting agent, fitted into the caller's token budget.

A token is estimated as four bytes of the encoded reply. Parts are filled by rank, lists item by item. Space for the
`omitted` counts is reserved first, so the reply stays within the budget whatever the parts hold. `omitted` counts entries;
a text that was cut is marked where it stands. The calls that show what was left out (`see_omitted`) get some of the space."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import structs
from pydantic import Field

from commonplace.arguments import AgentName
from commonplace.boot import BootSection, PartialSection, StartingSession
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.operation import Reply, operation
from commonplace.quoting.instruction_texts import may_be_instruction_like
from commonplace.quoting.marks import mark_value
from commonplace.rooms.agents.model import derive_status
from commonplace.rooms.knowledge.contributes import prepare_topic
from commonplace.rooms.sessions import handoffs, store
from commonplace.rooms.sessions.identity import IdentitySuggestion, suggest_identity
from commonplace.rooms.sessions.model import (
    QUOTED_TEXTS,
    BootPack,
    LongText,
    PathText,
    ResolvedAgent,
    SessionRequest,
    TokenBudget,
)
from commonplace.shortening import ELLIPSIS, shorten_text
from commonplace.store.database import Row, Tx, Work
from commonplace.store.shared_reads import run_together

BYTES_PER_TOKEN = 4
_OMITTED_FIELD_BYTES = len(',"omitted":{}')
_TRUNCATED_FIELD_BYTES = len(',"truncated":true')
_MIN_TEXT_CHARACTERS = 40
_HINT_FIELD_BYTES = len(',"see_omitted":')
_RESERVED_HINT_BYTES = 100
_LARGER_BUDGET = "a larger token_budget"
_CALL_BY_SECTION = {
    "resume": "memory_resume",
    "guidelines": "memory_guidelines(action='list')",
    "proposed_guidelines": "memory_guidelines(action='list')",
    "messages": "memory_get_messages",
    "backlog": "memory_list_backlog",
    "filed_by_you": "memory_list_backlog",
    "learnings": "memory_query",
    "patterns": "memory_query",
    "active_agents": "memory_get_active_work",
    "signals": "memory_get_active_work",
    "your_work": "memory_get_active_work",
    "relevant_locks": "memory_get_locks",
    "specs": "memory_list_specs",
    "checklists": "memory_checklist(action='list')",
}
_SECTIONS_WITH_TEXTS = {
    "handoff",
    "resume",
    "backlog",
    "filed_by_you",
    "unread_posts",
    "proposed_guidelines",
    "learnings",
    "patterns",
    "state_spec",
    "active_agents",
} | {
    "relevant_locks",
    "specs",
    "checklists",
    "signals",
    "blocking_others",
    "you_waited_for",
    "interface_updates",
}

_MAX_ACTIVE_AGENTS = 5
_MAX_SHOWN_TASK_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class PackPart:
    name: str
    rank: int
    value: Any
    omitted_items: int = 0
    """What the section left out before the budget was looked at."""

    @property
    def max_omitted_items(self) -> int:
        if isinstance(self.value, dict):
            return 1 + sum(_count_entries(items) for items in self.value.values())
        return self.omitted_items + (len(self.value) if isinstance(self.value, list) else 1)

    @property
    def omission_note_bytes(self) -> int:
        """The most bytes that this part's entry in `omitted` can take."""
        return len(f'"{self.name}":{self.max_omitted_items},')


async def gather_boot_parts(
    call: Call,
    start: StartingSession,
    request: SessionRequest,
    agent: ResolvedAgent,
    live_sessions: Sequence[Row],
) -> tuple[list[PackPart], set[str]]:
    """Gather the boot sections of all rooms, the parts that depend on the agent, and whose texts are to be marked."""
    sections = call.catalogue.boot_sections

    async def find_suggestion(tx: Tx) -> IdentitySuggestion | None:
        return None if request.gives_name else await _find_identity_suggestion(tx, start)

    works: list[Work[Any]] = [partial(_gather_section, call, start, section) for section in sections]
    works += [find_suggestion, lambda tx: store.list_outsiders(tx, start.project)]
    *gathered, suggestion, outsiders = await run_together(call.tx, works)
    room_parts = [_make_part(*each) for each in zip(sections, gathered, strict=True)]
    worker = {"name": agent.name, "spawned_by": request.spawned_by} if _is_worker(request, agent) else {}
    active = render_active_agents(live_sessions, agent, call.now)
    parts = [
        *room_parts,
        PackPart("registry_warning", 2, format_registry_warning(agent, start.project)),
        PackPart("identity_suggestion", 3, render_identity_suggestion(suggestion)),
        PackPart("worker", 4, worker),
        PackPart(
            "action_needed",
            5,
            " ".join(
                filter(
                    None,
                    (
                        format_earlier_session(start, call.now),
                        format_action_needed(
                            agent, suggestion, {part.name: part.value for part in room_parts}
                        ),
                    ),
                )
            ),
        ),
        PackPart("role", 6, "" if agent.role == request.role else agent.role),
        PackPart("active_agents", 40, active[:_MAX_ACTIVE_AGENTS], max(0, len(active) - _MAX_ACTIVE_AGENTS)),
    ]
    return parts, outsiders


async def _gather_section(call: Call, start: StartingSession, section: BootSection, tx: Tx) -> object:
    return await section.gather(structs.replace(call, tx=tx), start)


def _make_part(section: BootSection, value: object) -> PackPart:
    if isinstance(value, PartialSection):
        return PackPart(section.name, section.rank, list(value.items), value.omitted)
    return PackPart(section.name, section.rank, value)


async def _find_identity_suggestion(tx: Tx, start: StartingSession) -> IdentitySuggestion | None:
    if not start.working_directory:
        return None
    return suggest_identity(
        await store.list_agents_with_path_patterns(tx, start.project), start.working_directory
    )


def _is_worker(request: SessionRequest, agent: ResolvedAgent) -> bool:
    return bool(request.spawned_by) and (agent.tier == "worker" or not agent.is_known)


def render_active_agents(
    live_sessions: Sequence[Row], agent: ResolvedAgent, now: int
) -> list[dict[str, Any]]:
    """Render one entry per agent with a live session; `same_name` marks sessions of this agent's name."""
    entry_by_agent: dict[str, dict[str, Any]] = {}
    for row in live_sessions:
        entry = entry_by_agent.setdefault(row["agent"], _render_active_agent(row, agent, now))
        entry["sessions"] += 1
    return [
        entry
        if entry["sessions"] > 1
        else {name: value for name, value in entry.items() if name != "sessions"}
        for entry in entry_by_agent.values()
    ]


def _render_active_agent(row: Row, agent: ResolvedAgent, now: int) -> dict[str, Any]:
    same_name = {"same_name": True} if row["agent"] == agent.name else {}
    task = row["current_task"]
    task_field = {"task": shorten_text(task, _MAX_SHOWN_TASK_CHARACTERS)} if task else {}
    is_reported = row["status_at"] is not None and row["status"] == derive_status(
        {**row, "locks": 0, "locked_until": None, "has_worked": True}, now
    )
    status_field = {"status": row["status"]} if is_reported and row["status"] != "idle" else {}
    return (
        {"agent": row["agent"]}
        | same_name
        | status_field
        | task_field
        | {"active": format_age(row["active_at"], now), "sessions": 0}
    )


def format_registry_warning(agent: ResolvedAgent, project: str) -> str:
    if not agent.is_pending:
        return ""
    return f"'{agent.name}' is not on the roster of {project}: you are pending until an admin adds you."


def render_identity_suggestion(suggestion: IdentitySuggestion | None) -> dict[str, str]:
    if suggestion is None:
        return {}
    role = {"role": suggestion.role} if suggestion.role else {}
    return {"agent": suggestion.agent} | role | {"matched": suggestion.pattern}


def format_earlier_session(start: StartingSession, now: int) -> str:
    """Tell the agent that it continues a session that did not end, and what to do about its locks."""
    if not start.earlier_sessions:
        return ""
    last_call = format_age(max(each.active_at for each in start.earlier_sessions), now)
    return (
        f"You continue your earlier session, which did not end (last call: {last_call}). `your_locks` are still yours"
        " until they expire, but your calls renew only what you lock again (memory_lock_files)."
    )


def format_action_needed(
    agent: ResolvedAgent, suggestion: IdentitySuggestion | None, sections: dict[str, Any]
) -> str:
    """Format the steps to take before the task itself, in one line."""
    urgent = (sections.get("messages") or {}).get("urgent", 0)
    waiting = sections.get("blocking_others") or []
    steps = (
        suggestion
        and f"If you are '{suggestion.agent}', start again with claude_instance='{suggestion.agent}'.",
        agent.refused_name
        and f"You are '{agent.name}': the name '{agent.refused_name}' is in use by another agent.",
        agent.is_pending and "Ask a project admin to add you (memory_project, action='add_agent').",
        urgent and f"Call memory_get_messages: {urgent} urgent.",
        waiting and f"{len(waiting)} work items wait for you: see blocking_others.",
    )
    return " ".join(step for step in steps if step)


@dataclass(slots=True)
class _PackBuilder:
    remaining_bytes: int
    fields: dict[str, Any] = field(default_factory=dict)
    omitted: dict[str, int] = field(default_factory=dict)
    truncated: set[str] = field(default_factory=set)

    def add_part(self, part: PackPart, share: int) -> None:
        """Add the whole part, or as much as fits into 1/`share` of the remaining bytes."""
        saved_bytes = 0 if part.omitted_items else part.omission_note_bytes
        self.remaining_bytes += saved_bytes
        field_bytes = len(f'"{part.name}":,')
        value, omitted_items = part.value, 0
        if field_bytes + _encoded_bytes(value) > self.remaining_bytes:
            self.remaining_bytes -= saved_bytes
            value, omitted_items = _truncate_value(value, self.remaining_bytes // share - field_bytes)
            self.truncated.add(part.name)
        if omitted_items or part.omitted_items:
            self.omitted[part.name] = omitted_items + part.omitted_items
        if value:
            self.fields[part.name] = value
            self.remaining_bytes -= field_bytes + _encoded_bytes(value)

    def refill_part(self, part: PackPart) -> None:
        """Add a truncated part again, with all bytes that the other parts left."""
        if part.name in self.fields:
            self.remaining_bytes += len(f'"{part.name}":,') + _encoded_bytes(self.fields.pop(part.name))
        self.omitted.pop(part.name, None)
        self.truncated.remove(part.name)
        self.add_part(part, 1)


def fit_boot_pack(
    boot_pack: BootPack, parts: Sequence[PackPart], token_budget: int, outsiders: Collection[str] = ()
) -> BootPack:
    """Return the boot pack with as much of the parts as the budget allows; texts of `outsiders` are marked."""
    filled_parts = [replace(part, value=_mark_part(part.value, outsiders)) for part in parts]
    filled_parts = sorted(
        (part for part in filled_parts if part.value or part.omitted_items), key=lambda part: part.rank
    )
    note_bytes = sum(part.omission_note_bytes for part in filled_parts)
    boot_pack = msgspec.structs.replace(boot_pack, quoted=QUOTED_TEXTS)
    max_bytes = token_budget * BYTES_PER_TOKEN - _encoded_bytes(boot_pack) - _OMITTED_FIELD_BYTES - note_bytes
    builder = _fill_pack(filled_parts, max_bytes)
    if builder.truncated:
        builder = _fill_pack(filled_parts, max_bytes - _RESERVED_HINT_BYTES)
        builder.remaining_bytes += _RESERVED_HINT_BYTES
    note = {} if _has_texts_of_others(builder.fields) else {"quoted": ""}
    return msgspec.structs.replace(
        boot_pack, **builder.fields, **note, omitted=builder.omitted, see_omitted=_format_hint(builder)
    )


def _fill_pack(parts: Sequence[PackPart], max_bytes: int) -> _PackBuilder:
    builder = _PackBuilder(max_bytes)
    for part in parts:
        builder.add_part(part, 2)
    for part in [part for part in parts if part.name in builder.truncated]:
        builder.refill_part(part)
    return builder


def _format_hint(builder: _PackBuilder) -> str:
    """The calls that show what was left out, as many as there is space for, in the order of `omitted`."""
    handoff = builder.fields.get("handoff", {})
    calls = [f"memory_get_by_id('{handoff['id']}')"] if handoff.get("truncated") and handoff.get("id") else []
    calls += [_CALL_BY_SECTION.get(name, _LARGER_BUDGET) for name in builder.omitted]
    hint = ""
    for call in dict.fromkeys(calls):
        longer = f"{hint}; {call}" if hint else call
        if _HINT_FIELD_BYTES + _encoded_bytes(longer) <= builder.remaining_bytes:
            hint = longer
    return hint


def _count_entries(value: Any) -> int:
    """The number of entries in a list; names, such as those of files, are not entries."""
    return sum(isinstance(item, dict) for item in value) if isinstance(value, list) else 0


def _has_texts_of_others(fields: Mapping[str, Any]) -> bool:
    return bool(fields.keys() & _SECTIONS_WITH_TEXTS) or "top" in fields.get("messages", {})


def _mark_part(value: Any, outsiders: Collection[str]) -> Any:
    """Mark before fitting, so that the marks count towards the budget and are not cut off with a text."""
    plain = msgspec.to_builtins(value)
    if outsiders or may_be_instruction_like(msgspec.json.encode(plain)):
        return mark_value(plain, outsiders)
    return plain


def _encoded_bytes(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _truncate_value(value: Any, max_bytes: int) -> tuple[Any, int]:
    """Return as much of the value as fits, and the number of entries left out."""
    if isinstance(value, list):
        return _truncate_list(value, max_bytes)
    if isinstance(value, dict):
        return _truncate_object(value, max_bytes)
    if isinstance(value, str):
        shorter = _truncate_text(value, _encoded_bytes(value) - max_bytes)
        return shorter, 0 if shorter else 1
    return None, 1


def _truncate_list(items: list[Any], max_bytes: int) -> tuple[list[Any], int]:
    used_bytes, kept_items = len("[]"), 0
    for item in items:
        used_bytes += _encoded_bytes(item) + len(",")
        if used_bytes > max_bytes:
            break
        kept_items += 1
    return items[:kept_items], len(items) - kept_items


def _truncate_object(fields: dict[str, Any], max_bytes: int) -> tuple[dict[str, Any] | None, int]:
    """Drop the last items of lists first, then truncate the longest text; `truncated` marks what is not counted."""
    kept_fields, omitted_entries = dict(fields), 0
    for name, items in fields.items():
        excess_bytes = _encoded_bytes(kept_fields) - max_bytes
        if excess_bytes <= 0 or not isinstance(items, list):
            continue
        if not _count_entries(items) and "truncated" not in kept_fields:
            kept_fields["truncated"], excess_bytes = True, excess_bytes + _TRUNCATED_FIELD_BYTES
        kept_items, _ = _truncate_list(items, _encoded_bytes(items) - excess_bytes)
        omitted_entries += _count_entries(items) - _count_entries(kept_items)
        kept_fields[name] = kept_items
        if not kept_items:
            del kept_fields[name]
    if _encoded_bytes(kept_fields) <= max_bytes:
        return kept_fields, omitted_entries
    shorter = _truncate_longest_text(kept_fields, max_bytes)
    return shorter, omitted_entries if shorter else 1 + sum(map(_count_entries, fields.values()))


def _truncate_longest_text(fields: dict[str, Any], max_bytes: int) -> dict[str, Any] | None:
    longest = max(
        (name for name in fields if isinstance(fields[name], str)),
        key=lambda name: len(fields[name]),
        default="",
    )
    text = (
        _truncate_text(fields[longest], _encoded_bytes(fields) - max_bytes + _TRUNCATED_FIELD_BYTES)
        if longest
        else None
    )
    return fields | {longest: text, "truncated": True} if text else None


def _truncate_text(text: str, excess_bytes: int) -> str | None:
    """Remove as many characters as there are excess bytes: enough, because a character is at least one byte."""
    length = len(text) - excess_bytes - len(ELLIPSIS.encode())
    return text[:length].rstrip() + ELLIPSIS if length >= _MIN_TEXT_CHARACTERS else None


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
    start = await handoffs.load_last_handoff_and_work(call, start)
    live = await store.list_live_sessions(call.tx, call.project, agent, call.now - SESSION_LIVE_MICROSECONDS)
    parts, _ = await gather_boot_parts(call, start, request, resolved, live)
    pack = fit_boot_pack(BootPack(project=call.project, agent=agent, session_id=""), parts, token_budget)
    encoded = msgspec.json.encode(pack)
    return BootPackPreview(
        pack=msgspec.json.decode(encoded),
        tokens=-(-len(encoded) // BYTES_PER_TOKEN),
        token_budget=token_budget,
    )
