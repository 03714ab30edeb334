"""An agent that searches the tools in its own words finds the right one.

An intent is a line `what an agent would type | the tools that are right`. The descriptions were written with
`intents/tuned.txt` in view. `intents/seen_once.txt` scored 62.5 % before anybody looked at its misses. `intents/held_out.txt`
is only scored: add intents to it freely, but do not look at which ones miss when you change a description, or it
measures nothing.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from commonplace.catalogue import CATALOGUE
from commonplace.rooms.projects.operation_search import rank_tools

Intents = Mapping[str, frozenset[str]]


def _read_intents(name: str) -> Intents:
    lines = Path(__file__).with_name("intents").joinpath(name).read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" | ") for line in lines if line.strip()]
    return {intent: frozenset(tools.split()) for intent, tools in pairs}


@pytest.fixture(scope="module")
def tuned() -> Intents:
    return _read_intents("tuned.txt")


@pytest.fixture(scope="module")
def held_out() -> Intents:
    return _read_intents("held_out.txt")


def _share_found(intents: Intents) -> tuple[float, float]:
    """The shares of intents whose tool is the first, and among the first three."""
    places = [
        next((place for place, tool in enumerate(rank_tools(CATALOGUE, intent)) if tool.name in right), 99)
        for intent, right in intents.items()
    ]
    return tuple(sum(place < depth for place in places) / len(intents) for depth in (1, 3))


def test_every_intent_names_tools_that_models_are_shown(tuned: Intents, held_out: Intents):
    assert frozenset().union(*tuned.values(), *held_out.values()) <= CATALOGUE.model_tools


def test_no_intent_is_in_both_lists(tuned: Intents, held_out: Intents):
    assert tuned.keys() & held_out.keys() == set()
    assert len(held_out) >= 75


def test_tools_are_found_in_the_words_of_their_users(tuned: Intents):
    first, among_three = _share_found(tuned)
    assert (first >= 0.6, among_three >= 0.76) == (True, True)


def test_tools_are_found_in_words_that_nobody_tuned_them_to(held_out: Intents):
    first, among_three = _share_found(held_out)
    assert (first >= 0.63, among_three >= 0.8) == (True, True)
