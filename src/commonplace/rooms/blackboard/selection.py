"""Select the messages of a long session that fit into a token budget, without a language model."""

from collections.abc import Iterable, Sequence

from commonplace.store.database import Row

_CHARACTERS_PER_TOKEN = 4
_MESSAGE_OVERHEAD_CHARACTERS = 200  # characters that a message costs besides its own: names, ids, times


def select_messages(candidates: Sequence[Row], max_tokens: int) -> set[int]:
    """Take decisions and open questions up to half the budget, the most answered up to 3/4, then the newest."""
    newest = sorted(candidates, key=lambda row: -row["sequence"])
    most_answered = sorted(newest, key=lambda row: -row["replies"])
    budget = max_tokens * _CHARACTERS_PER_TOKEN
    cost_by_sequence: dict[int, int] = {}
    _add_while_fitting(cost_by_sequence, (row for row in newest if row["mark"] == "decision"), budget // 2)
    _add_while_fitting(cost_by_sequence, (row for row in newest if is_open_question(row)), budget // 2)
    _add_while_fitting(
        cost_by_sequence, (row for row in most_answered if row["replies"] > 0), budget * 3 // 4
    )
    _add_while_fitting(cost_by_sequence, newest, budget)
    return set(cost_by_sequence)


def is_open_question(row: Row) -> bool:
    return bool(row["mark"] == "question" and row["replies"] == 0)


def _add_while_fitting(cost_by_sequence: dict[int, int], ranked: Iterable[Row], budget: int) -> None:
    """Add what still fits, in this order; a message that is too long is skipped, not truncated."""
    remaining = budget - sum(cost_by_sequence.values())
    for row in ranked:
        cost = row["size"] + _MESSAGE_OVERHEAD_CHARACTERS
        if row["sequence"] not in cost_by_sequence and cost <= remaining:
            cost_by_sequence[row["sequence"]] = cost
            remaining -= cost
