"""Work items, overlaps and signals: arguments, replies, and the rules that need no store."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import msgspec
from pydantic import Field, WithJsonSchema

from commonplace.clock import format_age, iso
from commonplace.identity.liveness import format_silence
from commonplace.operation import Reply
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.waiting import WaitingAgent
from commonplace.shortening import shorten_text
from commonplace.store.database import Row

OVERLAP_HOURS = 24
OPEN_STATUSES = ("in_progress", "blocked")
HANDED_OVER = "handed over"
"""The status of work that was open when its session ended; nobody reports it."""
EDITS_TITLE = "Edits"
"""The title under which hooks report edited files; it says nothing about the task."""
MAX_FILES = 200
_TITLE_WORD = re.compile(r"\w+")
MAX_OVERLAPS = 50

WorkStatus = Literal["in_progress", "blocked", "completed", "abandoned"]
"""As it is stored; replies say `done` for `completed`."""
ReportedStatus = Annotated[
    str,
    Field(min_length=1, max_length=500),
    WithJsonSchema({"type": "string", "enum": ["in_progress", "blocked", "done", "completed", "abandoned"]}),
]
"""Any other text is a note on work in progress."""
MAX_WORK_TITLE_CHARACTERS = 200
WorkTitle = Annotated[
    str, Field(min_length=1, max_length=MAX_WORK_TITLE_CHARACTERS, description="The same title updates it.")
]
TouchedPath = Annotated[str, Field(min_length=1, max_length=8_192)]
TouchedFiles = Annotated[list[TouchedPath], Field(max_length=MAX_FILES)]
WorkNotes = Annotated[str, Field(max_length=10_000)]
ShortNote = Annotated[str, Field(max_length=500)]
SignalName = Annotated[
    str, Field(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$", description="You are told of it.")
]
SignalNames = Annotated[list[SignalName], Field(max_length=20, description="Sent to those who wait.")]


class FileOverlap(Reply):
    file: str
    agent: str
    project: str
    when: str
    how: str


class WorkSignal(Reply):
    name: str
    sender: str = msgspec.field(name="from")
    at: str
    details: str

    @classmethod
    def from_row(cls, row: Row) -> "WorkSignal":
        return cls(name=row["name"], sender=row["agent"], at=iso(row["at"]), details=row["details"])


class WorkUpdate(Reply):
    status: str
    id: str
    first_report: bool = False
    """The session reports on this work for the first time; later reports name it by the same title."""
    title: str = ""
    """The title of the work, if the report named it in other words; it stays."""
    item: str = ""
    """The backlog item that the work belongs to."""
    overlaps: list[FileOverlap] = []
    signals_broadcast: list[str] = []
    unblocked: list[str] | None = None
    """The agents whose wait a signal of this call ended; left out if it sent none."""
    notified: list[str] = []
    """The agents that were told of this wait."""
    sent_before: list[WorkSignal] = []
    message: str = ""


class BlockedAgent(Reply):
    agent: str
    waiting_for: str
    signal: str
    reason: str
    title: str
    since: str

    @classmethod
    def from_row(cls, row: Row) -> "BlockedAgent":
        return cls(
            agent=row["agent"],
            waiting_for=row["blocked_by"],
            signal=row["waiting_for"],
            reason=row["blocked_reason"],
            title=row["title"],
            since=iso(row["updated_at"]),
        )

    @classmethod
    def from_lock_wait(cls, wait: WaitingAgent) -> "BlockedAgent":
        return cls(
            agent=wait.agent,
            waiting_for=wait.holders,
            signal="",
            reason=f"lock on {wait.path}",
            title=wait.reason,
            since=iso(wait.since),
        )


class WaitLeft(Reply, kw_only=True):
    """What the agent's last session waited for when it ended; `now` is how that stands."""

    title: str
    waiting_for: str = ""
    reason: str = ""
    item: str = ""
    """The backlog item of that work, if it is still open and nobody else has it."""
    since: str
    now: str = ""


@dataclass(frozen=True, slots=True)
class WorkChange:
    """The fields of a work item that one memory_update_work call sets."""

    title: str
    status: WorkStatus
    files: list[str]
    notes: str | None
    blocked_by: str | None
    blocked_reason: str | None
    waiting_for: str | None

    def to_columns(self, row: Row | None) -> dict[str, str]:
        """Merge the change into the stored row. Only an item that stays blocked keeps what it waits for.

        Notes of open work do not describe it once it is completed, so they end with it.
        """
        stays_blocked = row is not None and self.status == "blocked"
        is_finished = row is not None and self.status == "completed" and row["status"] in OPEN_STATUSES
        files = msgspec.json.decode(row["files"]) if row else []
        return {
            "title": self.title,
            "status": self.status,
            "files": msgspec.json.encode(_merge_files(files, self.files)).decode(),
            "notes": _choose_value(self.notes, row, "notes", keep=not is_finished),
            "blocked_by": _choose_value(self.blocked_by, row, "blocked_by", keep=stays_blocked),
            "blocked_reason": _choose_value(self.blocked_reason, row, "blocked_reason", keep=stays_blocked),
            "waiting_for": _choose_value(self.waiting_for, row, "waiting_for", keep=stays_blocked),
        }

    def begins_wait(self, row: Row | None, columns: Mapping[str, str]) -> bool:
        """Does the change wait for something that the stored row did not wait for?"""
        return self.status == "blocked" and any(
            columns[name] and (row is None or columns[name] != row[name])
            for name in ("blocked_by", "waiting_for")
        )


@dataclass(frozen=True, slots=True)
class ReportedWork:
    """The stored work that a report is about, or none if it begins with the report; then what its agent should know."""

    row: Row | None
    message: str = ""


def read_status(reported: str, notes: str | None) -> tuple[WorkStatus, str | None]:
    """The status that a report means, and its notes."""
    word = reported.strip().casefold()
    if word == "done":
        return "completed", notes
    known: dict[str, WorkStatus] = {status: status for status in get_args(WorkStatus)}
    if word in known:
        return known[word], notes
    return "in_progress", f"{reported.strip()}\n{notes}" if notes else reported.strip()


def show_status(stored: str) -> str:
    return "done" if stored == "completed" else stored


def normalize_title(title: str) -> str:
    """The words of a title: case, spaces and punctuation do not make another one."""
    return " ".join(_TITLE_WORD.findall(title.casefold())) or title


def choose_reported_work(rows: Sequence[Row], titles_by_item: Mapping[str, str], title: str) -> Row | None:
    """Choose the work of the session that a report names: by its title or that of its backlog item, or by one of their ids
    in the title. Any other title is that of other work.

    `rows` are what the session works or worked on, the newest first; what is open comes before what is closed.
    """
    wanted = normalize_title(title)
    for row in sorted(rows, key=lambda row: row["status"] not in OPEN_STATUSES):
        names = (row["title"], titles_by_item.get(row["item"], row["title"]))
        has_title = any(normalize_title(name) == wanted for name in names)
        if has_title or row["id"] in title or (row["item"] and row["item"] in title):
            return row
    return None


def explain_separate_work(rows: Sequence[Row]) -> str:
    """Tell who begins work beside its only claim how a report on that claim is titled."""
    claimed = [row for row in rows if row["item"] and row["status"] in OPEN_STATUSES]
    if len(claimed) != 1:
        return ""
    (claim,) = claimed
    return f"Separate from your claim {claim['item']}: a report on that has the title '{claim['title']}'."


def choose_work_of_claim(rows: Sequence[Row], item: str) -> Row | None:
    """Choose the open work with the item's id in its title that a session has reported before it claims the item."""
    named = (
        row for row in rows if row["status"] in OPEN_STATUSES and not row["item"] and item in row["title"]
    )
    return next(named, None)


_NAME = re.compile(r"\w[\w.@:+/-]*\w|\w")
_MAX_AWAITED_NAMES = 20


@dataclass(frozen=True, slots=True)
class WaitAnnouncement:
    """Who was told of a wait, and what the waiter should know about it."""

    notified: Sequence[str] = ()
    message: str = ""


def list_awaited_names(wait: Mapping[str, str]) -> list[str]:
    """List the names in a wait: of agents, backlog items, specs, messages or signals."""
    names = [wait["waiting_for"], wait["blocked_by"].strip(), *_NAME.findall(wait["blocked_by"])]
    return list(dict.fromkeys(name for name in names if name))[:_MAX_AWAITED_NAMES]


def format_wait(agent: str, wait: Mapping[str, str], targets: Sequence[Row]) -> str:
    """Write the notice for the one waited for: who waits, for what, and what ends the wait."""
    things = sorted({row["name"] for row in targets if row["kind"] != "agent"})
    awaited = ", ".join(things) or ("you" if targets else f"the signal {wait['waiting_for']}")
    reason = f" ({wait['blocked_reason']})" if wait["blocked_reason"] else ""
    return f"{agent} waits for {awaited}: '{wait['title']}' is blocked{reason}. {_explain_end(agent, wait, targets)}"


def format_departure(agent: str, title: str) -> str:
    """Write the notice for who waits for an agent whose last session has ended."""
    return (
        f"{agent} ended its session, and your work '{title}' waits for it. Its next session is shown that you wait;"
        " to go on without it, report status='in_progress'."
    )


def format_arrival(agent: str, title: str, things: Sequence[str]) -> str:
    """Write the notice for who waits for an agent, or for something of it, when it starts a session."""
    others = [name for name in things if name != agent]
    of = f" (its {', '.join(others)})" if others else ""
    return f"{agent}, whom your work '{title}' waits for{of}, has started a session."


def describe_wait(wait: Mapping[str, str]) -> str:
    """Tell what work waits for and why: `waits for bob: needs the review`."""
    awaited = ", ".join(name for name in (wait["blocked_by"], wait["waiting_for"]) if name)
    waits = f"waits for {awaited}" if awaited else ""
    return ": ".join(part for part in (waits, wait["blocked_reason"]) if part)


def _explain_end(agent: str, wait: Mapping[str, str], targets: Sequence[Row]) -> str:
    kinds = {row["kind"] for row in targets}
    ends = []
    if "item" in kinds:
        ends.append("completing the item")
    if "spec" in kinds:
        ends.append("publishing its next version")
    if "message" in kinds:
        ends.append(f"a reply to {agent}")
    if wait["waiting_for"]:
        ends.append(f"the signal {wait['waiting_for']} (memory_update_work)")
    listed = " or ".join(ends) or f"a message to {agent}"
    return f"{listed[:1].upper()}{listed[1:]} ends the wait."


def explain_closed(targets: Sequence[Row]) -> str:
    """Which of these nobody need wait for."""
    texts = {
        "spec": "{name} {state} is published: read it with memory_get_spec.",
        "item": "{name} is already {state}.",
    }
    return " ".join(
        texts[row["kind"]].format(name=row["name"], state=row["state"]) for row in targets if row["closed"]
    )


def explain_wait(agent: str, wait: Mapping[str, str], targets: Sequence[Row], away: Collection[str]) -> str:
    """Tell the waiter what is done already or its own, who is away, or that nothing has this name."""
    closed = [text] if (text := explain_closed(targets)) else []
    own = sorted({row["name"] for row in targets if row["agent"] == agent and not row["closed"]})
    if own:
        closed.append(f"{', '.join(own)}: your own, so nobody else was told.")
    if not targets:
        return (
            f"Nobody was told: no agent, backlog item, spec or message of this project is named in blocked_by"
            f" ('{wait['blocked_by']}'). Report the work again when you can go on."
        )
    if away:
        be = "has no live session and is" if len(away) == 1 else "have no live session and are"
        closed.append(f"{', '.join(sorted(away))} {be} told at the next start; so are you.")
    return " ".join(closed)


def _merge_files(before: Iterable[str], touched: Iterable[str]) -> list[str]:
    """Put the most recently touched files last and drop the oldest beyond MAX_FILES."""
    touched = list(touched)
    return [*(path for path in before if path not in touched), *touched][-MAX_FILES:]


def _choose_value(value: str | None, row: Row | None, column: str, *, keep: bool) -> str:
    if value is not None:
        return value
    return str(row[column]) if row and keep else ""


def find_overlaps(
    touched: Sequence[str], rows: Iterable[Row], project: str, ignore_case: bool
) -> list[FileOverlap]:
    """Find where others touched the same file, a directory above it, or a file inside a touched directory."""
    touched_prefixes = [(path, paths.prefix_of_literal(path)) for path in touched]
    overlap_by_key: dict[tuple[str, str, str], FileOverlap] = {}
    for row in rows:
        for path, prefix in touched_prefixes:
            if not paths.prefixes_overlap(prefix, row["prefix"]):
                continue
            file, how = _compare_paths(path, row["path"], ignore_case)
            if how:
                overlap = FileOverlap(
                    file=file, agent=row["agent"], project=project, when=iso(row["at"]), how=how
                )
                overlap_by_key.setdefault((file, row["agent"], how), overlap)
    return list(overlap_by_key.values())[:MAX_OVERLAPS]


def _compare_paths(own_path: str, other_path: str, ignore_case: bool) -> tuple[str, str]:
    inside = paths.is_same_or_inside(own_path, other_path, ignore_case)
    contains = paths.is_same_or_inside(other_path, own_path, ignore_case)
    if inside and contains:
        return own_path, "same file"
    if inside:
        return own_path, f"inside {other_path}"
    return (other_path, "contains") if contains else (own_path, "")


_MAX_OWN_NOTES_CHARACTERS = 1_000
_MAX_OWN_FILES = 20


class ActiveAgent(Reply):
    agent: str
    last_active: str
    silent_for: str = ""
    """How long ago that was, if the agent made no call in the last minute."""
    restarted: str = ""
    """How long ago the session started, if it continues an earlier one that was not ended."""
    task: str = ""
    working_on: list[str] = []
    files: list[str] = []


class OwnWork(Reply):
    title: str
    status: str
    notes: str = ""
    files: list[str] = []

    @classmethod
    def from_row(cls, row: Row) -> "OwnWork":
        return cls(
            title=row["title"],
            status=show_status(row["status"]),
            notes=shorten_text(row["notes"], _MAX_OWN_NOTES_CHARACTERS),
            files=msgspec.json.decode(row["files"], type=list[str])[-_MAX_OWN_FILES:],
        )


class WorkItem(Reply):
    id: str
    title: str
    agent: str
    status: str
    age: str
    files: list[str] = []
    notes: str = ""

    @classmethod
    def from_row(cls, row: Row, now: int) -> "WorkItem":
        return cls(
            id=row["id"],
            title=row["title"],
            agent=row["agent"],
            status=show_status(row["status"]),
            age=format_age(row["updated_at"], now),
            files=msgspec.json.decode(row["files"]),
            notes=choose_shown_notes(row),
        )


def choose_shown_notes(row: Row) -> str:
    """The notes, or what they came to: the resolution of the backlog item that closed the work.

    Without a resolution, notes from before that say nothing about finished work.
    """
    if row["status"] != "completed" or row["completed_at"] is None:
        return str(row["notes"])
    if row["updated_at"] > row["completed_at"] and row["notes"]:
        return str(row["notes"])
    is_closed_by_item = row["updated_at"] == row["completed_at"]
    return str(row["resolution"] or ("" if is_closed_by_item else row["notes"]))


class ActiveWork(Reply):
    overlap_window_hours: int
    currently_active: list[ActiveAgent]
    blocked_agents: list[BlockedAgent]
    recent_signals: list[WorkSignal]
    recent_work_items: list[WorkItem]


def group_active_agents(sessions: Sequence[Row], work_rows: Sequence[Row], now: int) -> list[ActiveAgent]:
    """Build one entry per session, with its work in progress; a task of the same title is not repeated."""
    by_session: dict[str, list[Row]] = defaultdict(list)
    for row in work_rows:
        by_session[row["session"]].append(row)
    titles = {session: [work["title"] for work in rows] for session, rows in by_session.items()}
    return [
        ActiveAgent(
            agent=row["agent"],
            last_active=iso(row["active_at"]),
            silent_for=format_silence(row["active_at"], now),
            restarted=format_age(row["restarted_at"], now) if row["restarted_at"] else "",
            task="" if row["task"] in titles.get(row["id"], ()) else row["task"],
            working_on=titles.get(row["id"], []),
            files=[file for work in by_session[row["id"]] for file in msgspec.json.decode(work["files"])],
        )
        for row in sessions
    ]
