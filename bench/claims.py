"""python -m bench.claims: how well contradictions are found, and what each word list of the finder adds.

Pairs of sentences come from tests/rooms/claim_pairs.json: two sets, each of pairs that contradict and pairs that do
not. Every two sections of this repository's pages are compared as well: they do not contradict each other.
"""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

from bench.tables import print_table
from commonplace.rooms.knowledge import claims

ROOT = Path(__file__).parent.parent
MIN_SECTION_CHARACTERS = 80


def finds_clash(one: str, other: str) -> bool:
    return claims.find_clash(claims.extract_claims(one), claims.extract_claims(other)) is not None


def measure_pairs(contradicting: list[Any], compatible: list[Any]) -> tuple[float, float]:
    """Precision and recall; a contradiction counts if it is found whichever text was there first."""
    hits = sum(finds_clash(one, other) and finds_clash(other, one) for one, other, _ in contradicting)
    alarms = sum(finds_clash(one, other) or finds_clash(other, one) for one, other in compatible)
    return hits / ((hits + alarms) or 1), hits / len(contradicting)


def list_sections() -> list[str]:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    texts = [page.read_text(encoding="utf-8") for page in sorted(pages)]
    cut = [section for text in texts for section in re.split(r"\n(?=#|\n)", text)]
    return [section for section in cut if len(section) > MIN_SECTION_CHARACTERS]


def count_alarms(texts: list[str]) -> int:
    claimed = [claims.extract_claims(text) for text in texts]
    return sum(claims.find_clash(one, other) is not None for one, other in combinations(claimed, 2))


def measure_rules(pairs: dict[str, list[Any]], texts: list[str]) -> list[str]:
    first = measure_pairs(pairs["contradicting"], pairs["compatible"])
    second = measure_pairs(pairs["further_contradicting"], pairs["further_compatible"])
    return [f"{100 * share:.1f}" for share in (*first, *second)] + [str(count_alarms(texts))]


def main() -> None:
    pairs = json.loads((ROOT / "tests/rooms/claim_pairs.json").read_text(encoding="utf-8"))
    texts = list_sections()
    rows = [["all rules", "", *measure_rules(pairs, texts)]]
    for name, words in list(vars(claims).items()):
        if isinstance(words, frozenset | dict) and re.match(r"_[A-Z]", name) and name != "_SECONDS":
            setattr(claims, name, type(words)())
            rows.append([f"without {name}", str(len(words)), *measure_rules(pairs, texts)])
            setattr(claims, name, words)
    columns = ("rules", "words", "precision 1", "recall 1", "precision 2", "recall 2", "alarms")
    sizes = {name: len(listed) for name, listed in pairs.items()}
    print_table(f"Pairs: {sizes}; {len(texts) * (len(texts) - 1) // 2} pairs of sections", columns, rows)


if __name__ == "__main__":
    main()
