"""Fits the parts of the boot pack into the caller's token budget: lowest rank first, lists item by item.

A token is estimated as four bytes of the encoded reply. Space for the `omitted` counts is reserved first, so the
reply stays within the budget whatever the parts hold. `omitted` counts entries; a text that was cut is marked where it
stands. The calls that show what was left out (`see_omitted`) get some of the space. The parts come from `boot.py`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from commonplace.quoting.instruction_texts import may_be_instruction_like
from commonplace.quoting.marks import mark_value
from commonplace.rooms.sessions.model import QUOTED_TEXTS, BootPack
from commonplace.shortening import ELLIPSIS

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
