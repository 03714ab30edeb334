"""What agents are told of an item: that it is theirs, that it is closed, what blocks it. `edits.py` tells them."""

from collections.abc import Sequence

from commonplace.shortening import shorten_line
from commonplace.store.database import Row

_RESOLUTION_CHARACTERS = 160


def tell_assignment(agent: str, row: Row, blocked_by: Sequence[str]) -> str:
    """What the assignee of an item is told; of a blocked one also that it cannot begin."""
    assigned = f"{agent} assigned {row['id']} to you: {row['title']}"
    if not blocked_by:
        return assigned
    return f"{assigned} (blocked by {', '.join(blocked_by)}; you are told when it is free)"


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
    reason = f": {row['deferred_reason']}" if row["status"] == "deferred" and row["deferred_reason"] else ""
    return f"{agent} set {row['id']} ({row['title']}), which you filed, to {row['status']}{reason}"


def tell_closing(before: Row, closed: Row, unblocked: Sequence[Row], needed: Sequence[Row]) -> dict[str, str]:
    """What each agent is told of a closing: the items of theirs that it unblocked, that it was theirs, that they filed
    it, or that they closed what it `needed`: who built something hears that it was reviewed or used."""
    news = {row["completed_by"]: f"It depended on {row['id']}, which you closed." for row in needed}
    news[closed["created_by"]] = "You filed it."
    if before["assigned_to"]:
        news[before["assigned_to"]] = "It was yours."
    for agent in sorted({item["assigned_to"] or item["created_by"] for item in unblocked}):
        names = [
            f"{item['id']} ({item['title']})"
            for item in unblocked
            if agent == (item["assigned_to"] or item["created_by"])
        ]
        news[agent] = f"Unblocked: {', '.join(names)}."
    return news


def describe_blocker(row: Row) -> str:
    owner = f"{row['status']}, {row['assigned_to']}" if row["assigned_to"] else f"{row['status']}, unassigned"
    return f"{row['id']} '{row['title']}' ({owner})"
