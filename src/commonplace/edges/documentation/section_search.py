"""Search over the sections of the documentation: words by their stems, titles before texts, in memory.

About a thousand sections, so that an index in the store would be more work than it saves. The tokens are those of the
memory's own search (search/text.py).
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from commonplace.edges.documentation.markdown_page import MarkdownPage, PageSection
from commonplace.search.text import count_tokens, tokenize

_TITLE_WEIGHT: Final = 8.0
_HEADING_WEIGHT: Final = 4.0
_PAGE_LENGTH: Final = 120
_MAX_RESULTS: Final = 20
_MAX_WORDS: Final = 12
_EXCERPT_CHARACTERS: Final = 220


@dataclass(frozen=True)
class FoundSection:
    page: MarkdownPage
    section: PageSection
    excerpt: str


class SectionIndex:
    def __init__(self, pages: Iterable[MarkdownPage]) -> None:
        self._sections = [(page, section) for page in pages for section in page.sections]
        self._weights: dict[str, dict[int, float]] = defaultdict(dict)
        for number, (page, section) in enumerate(self._sections):
            for token, weight in _weigh_section(page, section).items():
                self._weights[token][number] = weight

    def find(self, question: str) -> list[FoundSection]:
        """The best sections. Rare words count more than usual ones, and a section that lacks a rare word falls back."""
        words = list(dict.fromkeys(tokenize(question)))[:_MAX_WORDS]
        scores: dict[int, float] = defaultdict(float)
        covered: dict[int, float] = defaultdict(float)
        for word in words:
            holders = self._weights.get(word, {})
            rarity = math.log(1 + len(self._sections) / (1 + len(holders)))
            for number, weight in holders.items():
                scores[number] += rarity * weight
                covered[number] += rarity
        best = sorted(scores, key=lambda number: (-scores[number] * covered[number] ** 2, number))
        return [self._build_result(number, words) for number in best[:_MAX_RESULTS]]

    def _build_result(self, number: int, words: list[str]) -> FoundSection:
        page, section = self._sections[number]
        return FoundSection(page, section, _cut_excerpt(" ".join(section.text.split()), words))


def _weigh_section(page: MarkdownPage, section: PageSection) -> dict[str, float]:
    body = count_tokens(section.text)
    longer = max(1.0, sum(body.values()) / _PAGE_LENGTH)
    weights = {token: (1 + math.log(count)) / math.sqrt(longer) for token, count in body.items()}
    for title, weight in ((section.title, _HEADING_WEIGHT), (page.title, _TITLE_WEIGHT)):
        # Only the first section of a page has the weight of its title.
        if title == page.title and section.level > 1:
            continue
        for token in set(tokenize(title)):
            weights[token] = weights.get(token, 0.0) + weight
    return weights


def _cut_excerpt(text: str, words: list[str]) -> str:
    wanted = set(words)
    start, passed = 0, 0
    for word in text.split(" "):
        if wanted.intersection(tokenize(word)):
            start = max(0, passed - _EXCERPT_CHARACTERS // 4)
            break
        passed += len(word) + 1
    begins = text.find(" ", start) + 1 if start else 0
    cut = text[begins : begins + _EXCERPT_CHARACTERS]
    return ("… " if begins else "") + cut + (" …" if begins + _EXCERPT_CHARACTERS < len(text) else "")
