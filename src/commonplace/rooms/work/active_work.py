"""Who works on what now and lately: the reply of memory_get_active_work, and what a restarted agent left open.

The rows come from `store.py`; reports of work are in `model.py`.
"""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from commonplace.clock import format_age, iso
from commonplace.identity.liveness import format_silence
from commonplace.operation import Reply
from commonplace.rooms.work.model import BlockedAgent, WorkSignal
from commonplace.shortening import shorten_text
from commonplace.store.database import Row

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
            status=row["status"],
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
            status=row["status"],
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
