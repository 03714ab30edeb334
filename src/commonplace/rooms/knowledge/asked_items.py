"""Questions that ask for items rather than for knowledge: for all of a kind, which another operation lists, or for a spec
by its name. English only, and strict: a wrong hint costs tokens in every reply.

`recall.py` puts these items first, and the replies name the operation. Weights of types: `question_words.py`.
"""

import re
from dataclasses import dataclass

from commonplace.rooms.knowledge.recalled_item import RecalledItem
from commonplace.search.query import EntryFilter

_ENOUGH_RELEVANCE = 0.4
_LEAST_RELEVANCE_BESIDE_HINT = 0.25
GUIDELINE_KIND, _SPEC_KIND, _BACKLOG_KIND, _WORK_KIND = "guideline", "spec", "backlog", "work"
_SPEC_WORDS = frozenset({"spec", "specification", "contract", "interface", "api"})
_FILLERS = frozenset({"a", "an", "the", "our", "of", "for", "called", "named"})
_NAME_PIECE = re.compile(r"[^\W_]+")

_ASK = r"^(?:so |please )?(?:which|what|list|show|give me|how many|are there|is there|any|all)\b"
_ARTICLES = r"(?: (?:are|is|were|all|any|the|our|my|your|of|open|team|project|house|coding|existing))*"
_TASKS = r"(?:tasks|tickets|todos|to-dos|backlog items)"
_STATUSES = {
    "done": r"(?:done|finished|completed|closed)",
    "blocked": r"blocked",
    "in_progress": r"in progress",
    "open": r"(?:open|pending|unfinished|left|remaining|not done)",
}
_HERE = r"(?:us|me|agents|everyone|(?:this|our|the) (?:project|repo|repository|team|code))"


@dataclass(frozen=True, slots=True)
class Listing:
    """What a question asks for all of: the kind of the items ("" if search has none) and the operation that lists them."""

    kind: str
    hint: str


def _build_task_patterns(status: str, words: str) -> tuple[re.Pattern[str], Listing]:
    pattern = (
        rf"(?:{_ASK}{_ARTICLES} |^){words} {_TASKS}\b"
        rf"|{_ASK}{_ARTICLES} {_TASKS}(?: (?:are|is|were|have|been|we|still|already|that))* {words}\b"
    )
    return re.compile(pattern), Listing(
        _BACKLOG_KIND, f"Tasks by status: memory_list_backlog(status='{status}')."
    )


_SPECS = Listing(_SPEC_KIND, "Specs and their owners: memory_list_specs.")
_LISTINGS = (
    (
        re.compile(
            r"\bwho\b.{0,40}\b(?:works?|working) on\b|\bwho (?:does|is doing) what\b"
            r"|\bwhat(?:'s| is| are| does| do)\b.{1,40} work(?:ing)? on(?: |\W*$)"
        ),
        Listing(_WORK_KIND, "Who works on what: memory_get_active_work."),
    ),
    (
        re.compile(
            r"\bstand-?up\b|^what(?:'s| is) new\b|^what (?:has )?happened(?:\W*$| (?:today|yesterday|lately|recently|since"
            r"|this week|last week|while)\b)"
        ),
        Listing("", "What happened lately: memory_get_active_work, memory_list_backlog(status='done')."),
    ),
    (
        re.compile(
            r"\bwho (?:owns|maintains|defined|wrote)\b.*\b(?:spec|specification|contract|interface|api)s?\b"
        ),
        _SPECS,
    ),
    (
        re.compile(
            rf"{_ASK}{_ARTICLES} (?:specs|specifications|contracts)"
            rf"(?:\W*$| (?:are there|do we|exist|does \w+ own)\b)"
        ),
        _SPECS,
    ),
    (
        re.compile(
            r"^who(?: is|'s) (?:the|our|a) \w+\W*$|^who (?:reviews|tests|handles|is responsible|is in charge|is on (?:the|our) team)\b"
        ),
        Listing("", "Agents and their roles: memory_list_agents."),
    ),
    (
        re.compile(
            rf"{_ASK}{_ARTICLES} (?:rules|guidelines|conventions)(?:\W*$| (?:that )?(?:apply|hold|exist|must|should"
            rf"|do (?:we|i|agents)|are there|there are|we|i|to follow)\b| (?:for|of|in) {_HERE}\b)"
        ),
        Listing(GUIDELINE_KIND, "All rules: memory_guidelines."),
    ),
    *(_build_task_patterns(status, words) for status, words in _STATUSES.items()),
)


def find_listing(question: str) -> Listing | None:
    """The first list that the question asks for."""
    words = " ".join(question.lower().split())
    return next((listing for pattern, listing in _LISTINGS if pattern.search(words)), None)


def keep_beside_hint(items: list[RecalledItem], question: str, wanted: EntryFilter) -> list[RecalledItem]:
    """The results of a question that another operation answers: those of the kind that it asks for, and good ones."""
    listing = _find_applicable_listing(question, wanted)
    if listing is None:
        return items
    return [
        each
        for each in items
        if each.hit.kind == listing.kind or each.relevance >= _LEAST_RELEVANCE_BESIDE_HINT
    ]


def _find_applicable_listing(question: str, wanted: EntryFilter) -> Listing | None:
    """None, too, if the caller wants other kinds."""
    listing = find_listing(question)
    is_restricted = wanted.types or wanted.typed_kinds or wanted.excluded_types
    return None if listing is None or (is_restricted and listing.kind not in wanted.typed_kinds) else listing


def format_hint(question: str, wanted: EntryFilter, best_kind: str = "", best_relevance: float = 0.0) -> str:
    """The operation that answers the question better than search; none if the best result is what it asks for."""
    listing = _find_applicable_listing(question, wanted)
    if listing is None or (best_kind == listing.kind and best_relevance >= _ENOUGH_RELEVANCE):
        return ""
    return listing.hint


def is_asked_for(question: str, kind: str, title: str) -> bool:
    """Does the question ask for every guideline, or name this very spec as one ("the contract booking")?"""
    if kind == GUIDELINE_KIND:
        listing = find_listing(question)
        return listing is not None and listing.kind == kind
    return kind == _SPEC_KIND and _names_spec(question, title)


def _names_spec(question: str, name: str) -> bool:
    """A word for specs has to stand beside the name: names such as `user` or `events` are common words."""
    asked = [piece for piece in _NAME_PIECE.findall(question.lower()) if piece not in _FILLERS]
    pieces = _NAME_PIECE.findall(name.lower())
    for start in range(len(asked) - len(pieces) + 1 if pieces else 0):
        end = start + len(pieces)
        neighbours = {*asked[max(start - 1, 0) : start], *asked[end : end + 1]}
        if asked[start:end] == pieces and not _SPEC_WORDS.isdisjoint(neighbours | {pieces[-1]}):
            return True
    return False
