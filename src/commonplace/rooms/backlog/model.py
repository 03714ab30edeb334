"""Backlog items: their fields, arguments and replies, and the pure functions that compute an edit. The SQL is in `store.py`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from pydantic import Field

from commonplace import errors
from commonplace.clock import HOUR, format_age
from commonplace.operation import Reply
from commonplace.shortening import shorten_line
from commonplace.store.database import Row
from commonplace.store.ids import Id
from commonplace.store.nouns import COMPUTED, EDITABLE, NounTable, stored_time

BacklogStatus = Literal[
    "open", "in_progress", "deferred", "blocked", "retest", "needs_info", "done", "wont_do", "duplicate"
]
BacklogPriority = Literal["critical", "high", "medium", "low"]
BacklogAction = Literal["create", "update", "complete"]
DEFAULT_PRIORITY: BacklogPriority = "medium"
STATUSES_TO_TELL = ("in_progress", "deferred", "blocked", "retest", "needs_info")

_WAITING_STATUSES = frozenset({"blocked", "deferred"})
"""`deferred_reason` says why; it is over when somebody goes on with the item."""
CLOSED_STATUSES = frozenset({"done", "wont_do", "duplicate"})
PRIORITY_RANKS = {priority: rank for rank, priority in enumerate(get_args(BacklogPriority))}
_ECHOED_FIELDS = frozenset({"title", "description", "tags", "milestone", "deferred_reason"})
CLAIM_LIFETIME = 4 * HOUR
"""How long a claim holds after the last call of its session; the longest lease on files holds as long."""
_SNIPPET_CHARACTERS = 160
_MAX_TEXT_CHARACTERS = 20_000
_NO_REASON = (
    "Others see it as blocked without a reason: deferred_reason says why, depends_on what it waits for."
)

ItemTitle = Annotated[str, Field(min_length=1, max_length=300)]
ItemText = Annotated[str, Field(max_length=_MAX_TEXT_CHARACTERS)]
DeferredReason = Annotated[str, Field(max_length=500)]
Milestone = Annotated[str, Field(max_length=100)]
Assignee = Annotated[str, Field(max_length=64, pattern=r"^(\w[\w.@:+-]*)?$")]
BacklogTag = Annotated[str, Field(min_length=1, max_length=64, pattern=r'^[^",\\\x00-\x1f]+$')]
BacklogTags = Annotated[list[BacklogTag], Field(max_length=20)]
Dependencies = Annotated[list[Id], Field(max_length=50, description="Item ids.")]
BacklogLimit = Annotated[int, Field(ge=1, le=100)]
BacklogOffset = Annotated[int, Field(ge=0, le=1_000_000)]


class BacklogItem(Reply, kw_only=True):
    id: str
    project: str
    title: Annotated[str, EDITABLE]
    status: Annotated[str, EDITABLE]
    priority: Annotated[str, EDITABLE]
    version: int
    updated: Annotated[str, stored_time("updated_at")]
    created: Annotated[str, stored_time("created_at")] = ""
    age: Annotated[str, COMPUTED] = ""
    created_by: str
    description: Annotated[str, EDITABLE] = ""
    assigned_to: Annotated[str, EDITABLE] = ""
    claimed_until: Annotated[str, stored_time("claimed_until")] = ""
    was_claimed_by: str = ""
    was_claimed_until: Annotated[str, stored_time("was_claimed_until")] = ""
    tags: list[str] = []
    milestone: Annotated[str, EDITABLE] = ""
    deferred_reason: Annotated[str, EDITABLE] = ""
    depends_on: Annotated[list[str], COMPUTED] = []
    blocked_by: Annotated[list[str], COMPUTED] = []
    resolution: Annotated[str, EDITABLE] = ""
    completed_by: str = ""
    completed_at: Annotated[str, stored_time("completed_at")] = ""

    @classmethod
    def from_row(cls, stored: Row, needs: Sequence[Row], now: int) -> "BacklogItem":
        own_needs = [need for need in needs if need["item"] == stored["id"]]
        return BACKLOG.to_reply(
            with_lapsed_claim(stored, now),
            age=format_age(stored["created_at"], now),
            depends_on=[need["needs"] for need in own_needs],
            blocked_by=[need["needs"] for need in own_needs if not need["closed"]],
        )

    @property
    def as_entry(self) -> "BacklogItem":
        """The item in a list: its age instead of the time, and how its description begins."""
        return msgspec.structs.replace(
            self, description=shorten_line(self.description, _SNIPPET_CHARACTERS), created=""
        )


_NO_CLAIM: dict[str, Any] = {
    "claim_project": "",
    "claim_session": "",
    "claim_assigned": 0,
    "claimed_until": None,
}
BACKLOG = NounTable(
    "backlog",
    BacklogItem,
    hidden={
        "n": 0,
        "rank": 0,
        "closed": 0,
        "waits": 0,
        "claim_project": "",
        "claim_session": "",
        "claim_assigned": 0,
    },
)
"""`waits` is how many open items it depends on, so that those that are ready are found by an index."""


class ChangedItem(BacklogItem, kw_only=True):
    """An item after a change, without what the caller sent or knows; `status` is what was done."""

    title: str = ""
    updated: str = ""
    created_by: str = ""
    """Who filed it, if another agent than the caller."""
    item_status: str = ""
    """The item's own status, if the call set it."""
    work_id: str = ""
    """The work item of a claim; memory_update_work reports on it."""
    work_title: str = ""
    """The title of that work, if the session had reported it before under another one."""
    ref: str = ""
    """The item's name in its batch, which depends_on of a later item of the batch may use."""
    unblocked: list[str] = []
    """The items that depended on it and can be claimed now."""
    notified: list[str] = []
    """The agents that were told."""
    message: str = ""
    offline: list[str] = []
    """The assignee, if it has no live session: its next session is shown the item."""

    @classmethod
    def from_item(
        cls,
        outcome: str,
        item: BacklogItem,
        sent: Iterable[str],
        status_before: str,
        caller: str,
        effects: "ItemEffects",
        *,
        is_claim: bool = False,
    ) -> "ChangedItem":
        """The reply shows what the caller did not send; who claims an item has to know its description."""
        known = {"created", "updated", "age"} | (set(sent) & _ECHOED_FIELDS)
        if not is_claim:
            known.add("description")
        if item.created_by == caller:
            known.add("created_by")
        fields = {name: getattr(item, name) for name in BacklogItem.__struct_fields__ if name not in known}
        is_news = outcome == "added" or item.status != status_before or "status" in sent
        lacks_reason = item.status == "blocked" and not item.deferred_reason and not item.blocked_by
        return cls(
            **fields | {"status": outcome, "item_status": item.status if is_news else ""},
            message=_NO_REASON if lacks_reason and "status" in sent else "",
            unblocked=effects.unblocked,
            notified=effects.notified,
            offline=effects.offline,
        )


class BacklogListing(Reply):
    count: int
    total: int
    items: list[BacklogItem]
    next_offset: int = 0
    done: int = 0
    """How many of these are closed and not listed (include_done=true lists them), by status; at most 1,000 are counted."""
    wont_do: int = 0
    duplicate: int = 0


class CompletedItem(Reply):
    status: str
    id: str
    title: str
    completed_by: str
    unblocked: list[str] = []
    """The items that depended on it and can be claimed now."""
    notified: list[str] = []
    """The agents that were told."""
    still_locked: list[str] = []
    """Files that the caller's session holds locked."""
    open_work: list[str] = []
    """Titles of other work that the caller's session has open, to be closed if it was part of the item."""


class ItemEffects(msgspec.Struct, frozen=True):
    """What a change of an item caused: the ids that it unblocked, the agents that were told, and those that are away."""

    unblocked: list[str] = []
    notified: list[str] = []
    offline: list[str] = []

    def __add__(self, other: "ItemEffects") -> "ItemEffects":
        return ItemEffects(
            self.unblocked + other.unblocked,
            sorted({*self.notified, *other.notified}),
            sorted({*self.offline, *other.offline}),
        )


class ReleasedClaim(Reply):
    """An item that a session had claimed and not completed when it ended: open again, for everybody."""

    id: str
    title: str
    blocked: str = ""
    """What the work on it waited for, and why."""


class BatchReply(Reply):
    status: str
    action: str
    count: int
    items: list[ChangedItem | CompletedItem]


class BacklogFilters(msgspec.Struct, frozen=True):
    now: int
    status: str | None = None
    priority: str | None = None
    assigned_to: str | None = None
    milestone: str | None = None
    tag: str | None = None
    ready_for: str | None = None
    include_done: bool = False

    @property
    def hides_closed(self) -> bool:
        """Does the list leave out closed items that an index can count?"""
        others = (self.status, self.priority, self.milestone, self.tag, self.ready_for)
        return not self.include_done and all(value is None for value in others)


def append_note(description: str, author: str, note: str) -> dict[str, str]:
    """The edit that adds a note at the end of the description."""
    text = f"{description}\n\nNote ({author}): {note.strip()}".strip()
    if len(text) > _MAX_TEXT_CHARACTERS:
        raise errors.TooLarge(
            f"With this note the description would have {len(text)} characters; it may have {_MAX_TEXT_CHARACTERS}.",
            hint="Shorten the note, or replace the description with a shorter one (description).",
        )
    return {"description": text}


class ItemEditor(msgspec.Struct, frozen=True):
    """Who edits an item, and when."""

    agent: str
    project: str
    session: str
    now: int


def is_claim_lapsed(row: Row, now: int) -> bool:
    return bool(row["claim_session"]) and row["claimed_until"] <= now


def with_lapsed_claim(row: Row, now: int) -> Row:
    """Return the item as it is once its claim has lapsed: open, and unassigned if the claim assigned it."""
    return {**row, **release_values(row, row["claimed_until"])} if is_claim_lapsed(row, now) else row


def release_values(row: Row, until: int) -> dict[str, Any]:
    """Return the columns that change when a claim ends without its item being done."""
    return {
        **_NO_CLAIM,
        "status": "open",
        "assigned_to": "" if row["claim_assigned"] else row["assigned_to"],
        "was_claimed_by": row["assigned_to"],
        "was_claimed_until": until,
    }


def _claim_values(
    row: Row, edits: Mapping[str, str], values: Mapping[str, Any], by: ItemEditor
) -> dict[str, Any]:
    """Return the claim columns after an edit. An agent that sets an item in progress for itself claims it.

    A claim lapses with its session; an agent without one, such as a person, has the item until they give it back.
    """
    in_progress = values["status"] == "in_progress"
    if (
        by.session
        and in_progress
        and values["assigned_to"] == by.agent
        and edits.keys() & {"status", "assigned_to"}
    ):
        was_assigned = row["assigned_to"] == by.agent
        assigned = row["claim_assigned"] if was_assigned else 1
        return {
            "claim_project": by.project,
            "claim_session": by.session,
            "claim_assigned": assigned,
            "claimed_until": by.now + CLAIM_LIFETIME,
            "was_claimed_by": "",
            "was_claimed_until": None,
        }
    stays = in_progress and values["assigned_to"] == row["assigned_to"]
    claim = {name: row[name] for name in _NO_CLAIM} if stays else _NO_CLAIM
    taken = values["assigned_to"] != row["assigned_to"] or values["status"] in CLOSED_STATUSES
    return {
        **claim,
        "was_claimed_by": "" if taken else row["was_claimed_by"],
        "was_claimed_until": None if taken else row["was_claimed_until"],
    }


def apply_edits(row: Row, edits: Mapping[str, str], by: ItemEditor) -> dict[str, Any]:
    """Return the item's fields after an edit; closing sets who completed it and when, reopening clears that."""
    values = {name: edits.get(name, row[name]) for name in BACKLOG.editable}
    if edits.get("assigned_to") == "" and "status" not in edits and row["status"] == "in_progress":
        values["status"] = "open"
    if row["status"] in _WAITING_STATUSES and values["status"] == "in_progress":
        values["deferred_reason"] = edits.get("deferred_reason", "")
    closed = values["status"] in CLOSED_STATUSES
    if not closed:
        values["resolution"] = ""
    completion = (row["completed_by"], row["completed_at"]) if row["closed"] else (by.agent, by.now)
    completed_by, completed_at = completion if closed else ("", None)
    return {
        **values,
        **_claim_values(row, edits, values, by),
        "rank": PRIORITY_RANKS[values["priority"]],
        "closed": int(closed),
        "completed_by": completed_by,
        "completed_at": completed_at,
    }


def diff_fields(row: Row, values: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return every field that differs, with its old and new value."""
    return {name: (row[name], values[name]) for name in BACKLOG.editable if row[name] != values[name]}
