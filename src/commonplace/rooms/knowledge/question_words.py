"""What the words of a question say of the answer: a type that they name, or that it is something somebody said.

`recall.py` adds the weight to the closeness of a hit. A search for everything prefers documents to mail and chat, and
what the team knows to tasks that repeat its words.
"""

import re
from collections.abc import Collection, Sequence

from commonplace.search.index import BLACKBOARD_KIND, MESSAGE_KIND
from commonplace.search.source import SearchItem

CHAT_KINDS = frozenset({BLACKBOARD_KIND, MESSAGE_KIND})
_TYPE_WEIGHT = 0.5
_COORDINATION_TYPES = frozenset({"backlog_item", "checklist", "work_item", "handoff"})
_COORDINATION_WEIGHT = -0.75
_COORDINATION_WORDS = frozenset(
    "who whose working work assigned claimed blocked progress status open pending unfinished ticket tickets doing left".split()  # noqa: SIM905 - a word list
)
_WORD = re.compile(r"[\w-]+")
_TYPE_BY_WORD = {
    **dict.fromkeys(("decision", "decisions", "decide", "decided", "adr"), "adr"),
    **dict.fromkeys(("guideline", "guidelines", "rule", "rules"), "guideline"),
    **dict.fromkeys(("spec", "specs", "contract"), "spec"),
    **dict.fromkeys(("task", "tasks", "todo", "backlog"), "backlog"),
    **dict.fromkeys(("learning", "learnings", "lesson", "gotcha"), "learning"),
    "handoff": "handoff",
    "checklist": "checklist",
}
_CHAT_WORDS = frozenset(
    "mail message messages tell told said say wrote write asked answered post posts".split()  # noqa: SIM905 - a word list
)


def list_question_words(question: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(question))


def weigh_type(words: Collection[str], asked: Collection[str], kind: str, item: SearchItem) -> float:
    """The bonus of an item, in standard deviations, for a type that the question names; `asked` are the kinds and types
    that were asked for. Tasks, checklists, work and handoffs that nobody asked for stand behind what is known."""
    named = {_TYPE_BY_WORD[word] for word in words if word in _TYPE_BY_WORD}
    if named & {kind, item.type}:
        return _TYPE_WEIGHT
    is_asked = {kind, item.type} & {*asked} or not _COORDINATION_WORDS.isdisjoint(words)
    return _COORDINATION_WEIGHT if item.type in _COORDINATION_TYPES and not is_asked else 0.0


def asks_for_chat(words: Collection[str], kinds: Sequence[str]) -> bool:
    """Does the question, or the choice of kinds, want what somebody said?"""
    return not _CHAT_WORDS.isdisjoint(words) or (bool(kinds) and CHAT_KINDS.issuperset(kinds))
