"""An agent that searches the tools in its own words finds the right one.

An intent is a line `what an agent would type | the tools that are right`. The descriptions were written with
`intents/tuned.txt` in view. `intents/seen_once.txt` scored 62.5 % before anybody looked at its misses. `intents/held_out.txt`
is only scored: add intents to it freely, but do not look at which ones miss when you change a description, or it
measures nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from commonplace.catalogue import CATALOGUE
from commonplace.edges.schema import tool_definition

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


def _words(text: str) -> list[str]:
    words = re.findall(r"[a-z0-9]+", text.lower().replace("_", " "))
    return [word.removesuffix("s") if len(word) > 3 else word for word in words]


class ToolSearch:
    """BM25 over the names, descriptions and parameters of all tools that models are shown."""

    def __init__(self) -> None:
        self.documents = {name: Counter(self._read_tool(name)) for name in sorted(CATALOGUE.model_tools)}
        self.document_counts = Counter(word for words in self.documents.values() for word in words)
        self.mean_length = sum(words.total() for words in self.documents.values()) / len(self.documents)

    def _read_tool(self, name: str) -> list[str]:
        tool = tool_definition(CATALOGUE.tools[name])
        return _words(f"{name} {tool['description']} {' '.join(tool['inputSchema']['properties'])}")

    def rank_tools(self, intent: str) -> list[str]:
        words = set(_words(intent))
        return sorted(self.documents, key=lambda name: -self._score(words, self.documents[name]))

    def _score(self, words: set[str], document: Counter[str]) -> float:
        length = 1.2 * (0.25 + 0.75 * document.total() / self.mean_length)
        return sum(
            self._rarity(word) * document[word] * 2.2 / (document[word] + length)
            for word in words & document.keys()
        )

    def _rarity(self, word: str) -> float:
        count = self.document_counts[word]
        return math.log(1 + (len(self.documents) - count + 0.5) / (count + 0.5))


def _share_found(intents: Intents, depth: int) -> float:
    search = ToolSearch()
    found = sum(bool(right & set(search.rank_tools(intent)[:depth])) for intent, right in intents.items())
    return found / len(intents)


def test_every_intent_names_tools_that_models_are_shown(tuned: Intents, held_out: Intents):
    assert frozenset().union(*tuned.values(), *held_out.values()) <= CATALOGUE.model_tools


def test_no_intent_is_in_both_lists(tuned: Intents, held_out: Intents):
    assert tuned.keys() & held_out.keys() == set()
    assert len(held_out) >= 75


def test_tools_are_found_in_the_words_of_their_users(tuned: Intents):
    assert (_share_found(tuned, 1) >= 0.6, _share_found(tuned, 3) >= 0.76) == (True, True)


def test_tools_are_found_in_words_that_nobody_tuned_them_to(held_out: Intents):
    assert (_share_found(held_out, 1) >= 0.63, _share_found(held_out, 3) >= 0.8) == (True, True)
