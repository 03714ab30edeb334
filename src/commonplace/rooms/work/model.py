"""Work items, overlaps and signals as calls ask for them and as replies show them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from pydantic import Field

from commonplace.clock import age, iso
from commonplace.operation import Reply
from commonplace.rooms.locks import paths, prefixes
from commonplace.store.database import Row

OVERLAP_HOURS = 24
MAX_FILES = 200
MAX_OVERLAPS = 50

Status = Literal["in_progress", "blocked", "completed", "abandoned"]
Title = Annotated[str, Field(min_length=1, max_length=200)]
FilePath = Annotated[str, Field(min_length=1, max_length=8_192)]
Files = Annotated[list[FilePath], Field(max_length=MAX_FILES)]
Notes = Annotated[str, Field(max_length=10_000)]
Sentence = Annotated[str, Field(max_length=500)]
SignalName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")]
Signals = Annotated[list[SignalName], Field(max_length=20)]


class Overlap(Reply):
    file: str
    agent: str
    project: str
    when: str
    how: str


class Signal(Reply):
    name: str
    sender: str = msgspec.field(name="from")
    at: str
    details: str

    @classmethod
    def of(cls, row: Row) -> "Signal":
        return cls(name=row["name"], sender=row["agent"], at=iso(row["at"]), details=row["details"])


class Updated(Reply):
    status: str
    id: str
    overlaps: list[Overlap] = []
    signals_broadcast: list[str] = []
    unblocked: list[str] = []
    sent_before: list[Signal] = []


class ActiveAgent(Reply):
    agent: str
    last_active: str
    task: str = ""
    working_on: list[str] = []
    files: list[str] = []


class BlockedAgent(Reply):
    agent: str
    waiting_for: str
    signal: str
    reason: str
    title: str
    since: str

    @classmethod
    def of(cls, row: Row) -> "BlockedAgent":
        return cls(
            agent=row["agent"],
            waiting_for=row["blocked_by"],
            signal=row["waiting_for"],
            reason=row["blocked_reason"],
            title=row["title"],
            since=iso(row["updated_at"]),
        )


class WorkItem(Reply):
    id: str
    title: str
    agent: str
    status: str
    updated: str
    age: str
    files: list[str] = []
    notes: str = ""

    @classmethod
    def of(cls, row: Row, now: int) -> "WorkItem":
        return cls(
            id=row["id"],
            title=row["title"],
            agent=row["agent"],
            status=row["status"],
            updated=iso(row["updated_at"]),
            age=age(row["updated_at"], now),
            files=msgspec.json.decode(row["files"]),
            notes=row["notes"],
        )


class ActiveWork(Reply):
    overlap_window_hours: int
    currently_active: list[ActiveAgent] = []
    blocked_agents: list[BlockedAgent] = []
    recent_signals: list[Signal] = []
    recent_work_items: list[WorkItem] = []


@dataclass(frozen=True, slots=True)
class Item:
    """A work item as one call leaves it."""

    title: str
    status: Status
    files: list[str]
    notes: str | None
    blocked_by: str | None
    blocked_reason: str | None
    waiting_for: str | None

    def after(self, row: Row | None) -> dict[str, str]:
        """What is stored: a blocked item keeps what it waits for until told otherwise, any other forgets it."""
        still = row is not None and self.status == "blocked"
        files = msgspec.json.decode(row["files"]) if row else []
        return {
            "title": self.title,
            "status": self.status,
            "files": msgspec.json.encode(_merged(files, self.files)).decode(),
            "notes": _kept(self.notes, row, "notes", keep=row is not None),
            "blocked_by": _kept(self.blocked_by, row, "blocked_by", keep=still),
            "blocked_reason": _kept(self.blocked_reason, row, "blocked_reason", keep=still),
            "waiting_for": _kept(self.waiting_for, row, "waiting_for", keep=still),
        }


def _merged(before: Iterable[str], touched: Iterable[str]) -> list[str]:
    """The most recently touched last, the oldest dropped when there are too many."""
    touched = list(touched)
    return [*(path for path in before if path not in touched), *touched][-MAX_FILES:]


def _kept(given: str | None, row: Row | None, name: str, *, keep: bool) -> str:
    if given is not None:
        return given
    return str(row[name]) if row and keep else ""


def overlaps(touched: Sequence[str], rows: Iterable[Row], project: str, fold: bool) -> list[Overlap]:
    """Where others touched the same file, a directory around one of ours, or something inside ours."""
    ours = [(path, prefixes.prefix_of_literal(path)) for path in touched]
    found: dict[tuple[str, str, str], Overlap] = {}
    for row in rows:
        for path, prefix in ours:
            if not prefixes.prefixes_overlap(prefix, row["prefix"]):
                continue
            file, how = _meeting(path, row["path"], fold)
            if how:
                overlap = Overlap(
                    file=file, agent=row["agent"], project=project, when=iso(row["at"]), how=how
                )
                found.setdefault((file, row["agent"], how), overlap)
    return list(found.values())[:MAX_OVERLAPS]


def _meeting(ours: str, theirs: str, fold: bool) -> tuple[str, str]:
    inside = paths.is_same_or_inside(ours, theirs, fold)
    contains = paths.is_same_or_inside(theirs, ours, fold)
    if inside and contains:
        return ours, "same file"
    if inside:
        return ours, f"inside {theirs}"
    return (theirs, "contains") if contains else (ours, "")
