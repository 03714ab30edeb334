"""What agents are told of an item: that it is theirs, changed or closed, what blocks it. `edits.py` tells them."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from commonplace.shortening import shorten_line
from commonplace.store.database import Row

_RESOLUTION_CHARACTERS = 160
_REASON_CHARACTERS = 160
_CHANGE_CHARACTERS = 400


def tell_assignment(agent: str, row: Row, blocked_by: Sequence[str]) -> str:
    """What the assignee of an item is told; of a blocked one also that it cannot begin."""
    assigned = f"{agent} assigned {row['id']} to you: {row['title']}"
    if not blocked_by:
        return assigned
    return f"{assigned} (blocked by {', '.join(blocked_by)}; you are told when it is free)"


def tell_changes(agent: str, row: Row, reader: str, changes: Mapping[str, tuple[str, str]]) -> str:
    """What the assignee of an item, or who filed it, is told of fields that somebody else changed."""
    relation = "which is yours" if row["assigned_to"] == reader else "which you filed"
    changed = ", ".join(_describe_change(name, old, new) for name, (old, new) in changes.items())
    return f"{agent} changed {row['id']} ({row['title']}), {relation}: {changed}"


def _describe_change(name: str, old: str, new: str) -> str:
    if name == "depends_on":
        before, after = msgspec.json.decode(old), msgspec.json.decode(new)
        steps = [f"+{item}" for item in after if item not in before]
        return " ".join([name, *steps, *(f"-{item}" for item in before if item not in after)])
    if name == "title":
        return f"title was {_quote_text(old)}"
    if name == "description":
        is_longer = bool(old) and new.startswith(old)
        return (
            f"description + {_quote_text(new[len(old) :])}" if is_longer else "description (memory_get_by_id)"
        )
    if name == "deferred_reason":
        return f"{name} {_quote_text(old)} -> {_quote_text(new)}"
    return f"{name} {old or 'none'} -> {new or 'none'}"


def _quote_text(text: str) -> str:
    line = shorten_line(text, _CHANGE_CHARACTERS)
    return f'"{line}"' if line else "none"


def describe_closing(agent: str, closed: Row) -> str:
    """Who closed the item, as what, and the first words of the resolution."""
    closing = f"{agent} closed {closed['id']} ({closed['title']}) as {closed['status']}"
    resolution = shorten_line(closed["resolution"], _RESOLUTION_CHARACTERS)
    return f'{closing}: "{resolution}"' if resolution else closing


def tell_loss(agent: str, row: Row) -> str:
    """What an agent is told whose item was given to another, or to nobody."""
    if row["assigned_to"] == "":
        return f"{agent} unassigned {row['id']} ({row['title']}): it is no longer yours."
    return f"{agent} took {row['id']} from you: {row['title']}"


def tell_status(agent: str, row: Row) -> str:
    """What who filed an item is told of a status that may need them."""
    if row["status"] == "in_progress" and row["assigned_to"] == agent:
        return f"{agent} started {row['id']} ({row['title']}), which you filed."
    reason = f": {row['deferred_reason']}" if row["status"] == "deferred" and row["deferred_reason"] else ""
    return f"{agent} set {row['id']} ({row['title']}), which you filed, to {row['status']}{reason}"


def tell_closing(
    before: Row, closed: Row, released: Sequence[Row], unblocked: Collection[str], needed: Sequence[Row]
) -> dict[str, str]:
    """What each agent is told of a closing: the items of theirs that it released, that it was theirs, that they filed
    it, or that they closed what it `needed`: who built something hears that it was reviewed or used.

    `unblocked` are the ids of the released items that wait for nothing else.
    """
    news = {row["completed_by"]: f"It depended on {row['id']}, which you closed." for row in needed}
    news[closed["created_by"]] = "You filed it."
    if before["assigned_to"]:
        news[before["assigned_to"]] = "It was yours."
    for agent in sorted({_name_concerned(item) for item in released}):
        own = [item for item in released if agent == _name_concerned(item)]
        free = [f"{item['id']} ({item['title']})" for item in own if item["id"] in unblocked]
        texts = [f"Unblocked: {', '.join(free)}."] if free else []
        texts += [_tell_still_blocked(item) for item in own if item["id"] not in unblocked]
        news[agent] = " ".join(texts)
    return news


def _name_concerned(item: Row) -> str:
    return str(item["assigned_to"] or item["created_by"])


def _tell_still_blocked(item: Row) -> str:
    reason = (
        f" ({shorten_line(item['deferred_reason'], _REASON_CHARACTERS)})" if item["deferred_reason"] else ""
    )
    return (
        f"{item['id']} ({item['title']}) has no open dependency left but stays blocked for another reason{reason}:"
        " claim it, or set status='open', when that is over."
    )


def describe_blocker(row: Row) -> str:
    owner = f"{row['status']}, {row['assigned_to']}" if row["assigned_to"] else f"{row['status']}, unassigned"
    return f"{row['id']} '{row['title']}' ({owner})"
