"""What of a long session fits into a few tokens, without a model."""

from collections.abc import Iterable, Sequence

from commonplace.store.database import Row

_CHARACTERS_PER_TOKEN = 4
_AROUND = 200  # characters that a message costs besides its own: names, ids, times


def chosen(candidates: Sequence[Row], max_tokens: int) -> set[int]:
    """Decisions and open questions first, up to half; the most answered up to a quarter more; then the newest."""
    newest = sorted(candidates, key=lambda row: -row["sequence"])
    answered = sorted(newest, key=lambda row: -row["replies"])
    budget = max_tokens * _CHARACTERS_PER_TOKEN
    kept: dict[int, int] = {}
    _fill(kept, (row for row in newest if row["mark"] == "decision"), budget // 2)
    _fill(kept, (row for row in newest if is_open(row)), budget // 2)
    _fill(kept, (row for row in answered if row["replies"] > 0), budget * 3 // 4)
    _fill(kept, newest, budget)
    return set(kept)


def is_open(row: Row) -> bool:
    return bool(row["mark"] == "question" and row["replies"] == 0)


def _fill(kept: dict[int, int], ranked: Iterable[Row], budget: int) -> None:
    """Keep what still fits, in this order; a message that is too long is passed over, not cut."""
    left = budget - sum(kept.values())
    for row in ranked:
        cost = row["size"] + _AROUND
        if row["sequence"] not in kept and cost <= left:
            kept[row["sequence"]] = cost
            left -= cost
