"""Why a result matches a question: the words, the meaning or the file that they share, and how often it was opened."""

import re
from collections.abc import Sequence
from functools import lru_cache

from commonplace.rooms.knowledge import evidence
from commonplace.rooms.knowledge.recalled_item import RecalledItem
from commonplace.search import text
from commonplace.search.find import Question
from commonplace.search.relevance import has_meaning, is_near_without_words

_MAX_SHOWN_WORDS = 5
_MIN_SHOWN_CHARACTERS = 3
_NAME_PART = re.compile(r"[^\W\d_]+|\d+")
_NON_SPACE = re.compile(r"\S+")


def explain_match(recalled: RecalledItem, question: Question) -> str:
    hit, item = recalled.hit, recalled.item
    parts = []
    if words := _list_matched_words(question.text, hit.matched_words, f"{item.title}\n{item.text}"):
        parts.append("words: " + ", ".join(words[:_MAX_SHOWN_WORDS]))
    if has_meaning(hit, question) or is_near_without_words(hit, question):
        parts.append(f"meaning {hit.similarity:.2f}")
    if named := _find_named_file(question.text, item.files):
        parts.append(f"file {named}")
    if opened := recalled.row.get("opened"):
        parts.append(f"opened {opened}x")
    return "; ".join(parts)


def _list_matched_words(question: str, matched: Sequence[str], content: str) -> list[str]:
    """The words of the question that matched; only the matching parts of a word that matched in part. A token that the
    question does not have, because a misspelt word stands for it, is shown as the content has it."""
    written: dict[str, str] = {}
    for word, tokens, parts in _split_written_words(question):
        written = {**parts, **written}
        if tokens.issubset(matched):
            written |= dict.fromkeys(tokens, word)
    written |= _find_written_tokens(content, {token for token in matched if token not in written})
    words = dict.fromkeys(written[token] for token in matched if token in written)
    return [
        word
        for word in words
        if not ((word.isascii() and len(word) < _MIN_SHOWN_CHARACTERS) or word.isdigit())
    ]


def _find_written_tokens(content: str, wanted: set[str]) -> dict[str, str]:
    """The first word of the content for each of these tokens."""
    written: dict[str, str] = {}
    for match in _NON_SPACE.finditer(content) if wanted else ():
        if not wanted.isdisjoint(text.tokenize(match[0])):
            for word, tokens, parts in _split_written_words(match[0]):
                written = {**dict.fromkeys(tokens, word), **parts, **written}
            if wanted <= written.keys():
                break
    return {token: written[token] for token in wanted if token in written}


@lru_cache(maxsize=16)
def _split_written_words(question: str) -> list[tuple[str, frozenset[str], dict[str, str]]]:
    """Each word as it is written, its tokens, and its parts by their tokens. Remembered for the other results."""
    words = []
    for word in _NON_SPACE.findall(question):
        parts = {token: part for part in _NAME_PART.findall(word) for token in text.tokenize(part)}
        words.append((word.strip(".,;:!?\"'()"), frozenset(text.tokenize(word)), parts))
    return words


def _find_named_file(question: str, files: Sequence[str]) -> str:
    words = set(text.tokenize(question))
    return next((file for file in files if (name := _tokenize_file_name(file)) and name <= words), "")


def _tokenize_file_name(file: str) -> set[str]:
    """The words of a file's name, without folder and extension, which many files share."""
    tokens = text.tokenize(evidence.extract_file_stem(file))
    return set(tokens[:-1] or tokens)
