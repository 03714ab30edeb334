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


def tell_closing(closed: Row, unblocked: Sequence[Row], needed: Sequence[Row]) -> dict[str, str]:
    """What each agent is told of a closing: the items of theirs that it unblocked, that they filed it, or that they
    closed what it `needed`: who built something hears that it was reviewed or used."""
    news = {row["completed_by"]: f"It depended on {row['id']}, which you closed." for row in needed}
    news[closed["created_by"]] = "You filed it."
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
