"""What a text claims, sentence by sentence, and which claims of two texts cannot both be true.

A sentence is read as a topic and what is said of it. Two sentences clash if they say different things of one topic
that has only one: a number, one of two opposites, a default. In doubt they do not clash. How well this works, and
which rules and words earn their place, is measured by `python -m bench.claims` (figures: docs/guides/knowledge.md).
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.search.text import STOP_WORDS, stem
from commonplace.shortening import shorten_text

_MAX_COMPARED_CHARACTERS = 8000
_MAX_CLAIMS = 40
_MAX_SHOWN_CHARACTERS = 200
_MAX_NAME_WORDS = 2
_MIN_SHARED_STEMS = 2
_MIN_DENIAL_OVERLAP = 0.8
_MIN_NUMBER_OVERLAP = 0.75

_split = str.split
_ASSIGNED = "\u2254"  # stands for every sign of assignment
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+|[;\n]+|(?<=[\u3002\uff01\uff1f\uff1b])")
_NOT_A_CLAIM = re.compile(r"^[|#]|[?\uff1f]$")  # a heading, a row of a table, a question
_ASSIGNMENT = re.compile(r"(?<=\w)\s*(?::=|=>|->|=|:(?=\s))\s*")
_WORD = re.compile(rf"[{_ASSIGNED}{_CJK}]|[^\W_{_CJK}](?:[^\W{_CJK}]|['./+#@-])*[^\W{_CJK}+#]|[^\W_{_CJK}]")
_NUMBER = re.compile(r"v?\d+(?:[./-]\d+)*(?:\.x)?[a-z+]{0,3}|[a-z]{2}-[a-z]+-\d")
_LETTERS = re.compile(r"[a-z]+")
_DURATION = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s?-?(ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hours?|days?)\b"
)
_SECONDS = {"ms": 0.001, "mi": 60.0, "s": 1.0, "h": 3600.0, "d": 86400.0}
_NUMBER_WORDS = {
    word: str(n) for n, word in enumerate(_split("zero one two three four five six seven eight nine ten"))
}

_NEGATION = re.compile(r"not?|never|cannot|without|off|\w+n't")
_DENIALS = {"disabl": "enabl", "forbid": "allow", "forbidden": "allow", "fals": "true"}
_PAST = frozenset(_split("was were had formerly previously"))
_FILLERS = (STOP_WORDS - frozenset(_split("before after above below"))) | frozenset(_split("always must may"))
_COPULAS = frozenset(_split("is are was were isn't aren't wasn't weren't"))
_USES = frozenset(_split("use uses using"))
_SCOPE_WORDS = frozenset(_split("for when if during per of while unless"))
_ENVIRONMENTS = frozenset(map(stem, _split("staging production development test ci windows linux macos")))
_ONLY_ONE = frozenset(map(stem, _split("default primary main only preferred")))
_OPPOSITES = frozenset(
    frozenset(pair.split("/"))
    for pair in _split("required/optional before/after above/below public/private automatically/manually")
)
_OPPOSITE_PREFIXES = frozenset(_split("un in im non a"))


@dataclass(frozen=True, slots=True)
class Clash:
    kind: str
    theirs: str
    yours: str


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a claim: how it is written and compared, and the word before it."""

    text: str
    stem: str
    position: int
    before: str
    is_number: bool
    is_name: bool
    """Written like a name: PostgreSQL, v2, next.js."""


@dataclass(frozen=True, slots=True)
class Claim:
    text: str
    topic: frozenset[str]
    predicate: tuple[_Word, ...]
    stems: frozenset[str]
    has_copula: bool
    is_denied: bool
    is_past: bool

    @property
    def numbers(self) -> frozenset[str]:
        return frozenset(each for each in self.stems if _NUMBER.fullmatch(each))

    @property
    def meaning(self) -> tuple[bool, frozenset[str]]:
        return self.is_denied, self.stems


def extract_claims(content: str) -> list[Claim]:
    """The claims of a text, as far as they are compared."""
    sentences = (
        sentence.strip(" .!\u3002\uff01-*")
        for sentence in _SENTENCE_END.split(content[:_MAX_COMPARED_CHARACTERS])
    )
    return [
        _parse_claim(sentence) for sentence in sentences if sentence and not _NOT_A_CLAIM.search(sentence)
    ][:_MAX_CLAIMS]


def find_clash(yours: Sequence[Claim], theirs: Sequence[Claim]) -> Clash | None:
    """The first two sentences that cannot both be true, leaving out what both texts say."""
    agreed = {claim.meaning for claim in yours} & {claim.meaning for claim in theirs}
    own = [claim for claim in yours if claim.meaning not in agreed]
    others = [claim for claim in theirs if claim.meaning not in agreed]
    pairs = ((mine, other) for other in others for mine in own)
    return next(
        (Clash(kind, other.text, mine.text) for mine, other in pairs if (kind := _clash_kind(mine, other))),
        None,
    )


def is_correction(yours: Sequence[Claim], theirs: Sequence[Claim]) -> bool:
    """Does one text contradict the other, or have a number that the other has not?"""
    numbers = {number for claim in theirs for number in claim.numbers}
    return find_clash(yours, theirs) is not None or any(claim.numbers - numbers for claim in yours)


def _parse_claim(sentence: str) -> Claim:
    plain = unicodedata.normalize("NFKC", sentence).replace("\u2019", "'")
    written = _WORD.findall(_DURATION.sub(_in_seconds, _ASSIGNMENT.sub(f" {_ASSIGNED} ", plain)))
    lower = [word.lower() for word in written]
    words = [
        _parse_word(written[n], word, n, lower[n - 1] if n else "")
        for n, word in enumerate(lower)
        if word not in _FILLERS and word != _ASSIGNED and not _NEGATION.fullmatch(word)
    ]
    link = next((n for n, word in enumerate(lower) if word in _COPULAS or word == _ASSIGNED), 0)
    topic = _split_topic(words, link)
    denials = sum(bool(_NEGATION.fullmatch(word)) or stem(word) in _DENIALS for word in lower)
    return Claim(
        shorten_text(sentence, _MAX_SHOWN_CHARACTERS),
        frozenset(word.stem for word in topic),
        tuple(words[len(topic) :]),
        frozenset(word.stem for word in words),
        link > 0 and lower[link] != _ASSIGNED,
        denials % 2 == 1,
        not _PAST.isdisjoint(lower),
    )


def _in_seconds(duration: re.Match[str]) -> str:
    """One spelling for `30s`, `30 seconds` and `0.5 min`."""
    unit = next(seconds for start, seconds in _SECONDS.items() if duration[2].startswith(start))
    return f"{float(duration[1]) * unit:.12g}sec"


def _parse_word(written: str, lower: str, position: int, before: str) -> _Word:
    plain = _NUMBER_WORDS.get(lower) or lower.removesuffix("'s")
    stemmed = stem(plain) if _LETTERS.fullmatch(plain) else plain
    is_name = written != lower or not _LETTERS.fullmatch(plain)
    number = bool(_NUMBER.fullmatch(plain))
    return _Word(plain, _DENIALS.get(stemmed, stemmed), position, before, number, is_name)


def _split_topic(words: Sequence[_Word], link: int) -> Sequence[_Word]:
    """What stands before a copula or an assignment; without one the first word, with its number."""
    if link:
        return [word for word in words if word.position < link]
    return words[: 2 if len(words) > 1 and words[1].is_number else 1]


def _clash_kind(mine: Claim, other: Claim) -> str:
    """How two sentences clash, or an empty text."""
    if mine.is_past != other.is_past:
        return ""
    if mine.is_denied != other.is_denied:
        shared, together = mine.stems & other.stems, mine.stems | other.stems
        alike = len(shared) >= _MIN_SHARED_STEMS and len(shared) / len(together) >= _MIN_DENIAL_OVERLAP
        return "polarity" if alike else ""
    if mine.topic != other.topic:
        return "value" if _fill_one_role(mine, other) else ""
    own, theirs = _words_missing_in(mine, other), _words_missing_in(other, mine)
    if not own or not theirs:
        return ""
    shared = mine.stems & other.stems
    differ = _numbers_differ(own, theirs, shared, mine, other) or _names_differ(
        own, theirs, shared, mine, other
    )
    return "value" if differ else ""


def _words_missing_in(claim: Claim, other: Claim) -> list[_Word]:
    return [word for word in claim.predicate if word.stem not in other.stems]


def _fill_one_role(mine: Claim, other: Claim) -> bool:
    """`Redis is the default cache`, `Memcached is the default cache`."""
    said = {word.stem for word in mine.predicate}
    alone = len(mine.topic) == len(other.topic) == 1
    return alone and said == {word.stem for word in other.predicate} and not said.isdisjoint(_ONLY_ONE)


def _numbers_differ(
    own: Sequence[_Word], theirs: Sequence[_Word], shared: frozenset[str], mine: Claim, other: Claim
) -> bool:
    """As many numbers on both sides, at least one of them another, and next to nothing else."""
    numbers = [word.stem for word in own if word.is_number]
    others = [word.stem for word in theirs if word.is_number]
    if not numbers or len(numbers) != len(others) or all(map(_is_same_number, numbers, others)):
        return False
    further = len(own) + len(theirs) - len(numbers) - len(others)
    alike = len(shared) / (len(shared) + further) >= _MIN_NUMBER_OVERLAP if shared else False
    only_number = mine.has_copula and len(mine.predicate) == len(other.predicate) == 1
    return alike and (len(shared) >= _MIN_SHARED_STEMS or only_number)


def _is_same_number(one: str, other: str) -> bool:
    """3 and 3.11 may be the same version, told more exactly."""
    short, long = sorted((one.lstrip("v").rstrip("+"), other.lstrip("v").rstrip("+")), key=len)
    return long == short or long.startswith(f"{short}.")


def _names_differ(
    own: Sequence[_Word], theirs: Sequence[_Word], shared: frozenset[str], mine: Claim, other: Claim
) -> bool:
    """Another name stands where only one can."""
    if not _is_name(own) or not _is_name(theirs) or _is_same_spelling(own, theirs):
        return False
    if len(own) == len(theirs) == 1 and _are_opposites(own[0].text, theirs[0].text):
        return True
    if _is_scope(own, theirs):
        return False
    if own[0].before in _USES and theirs[0].before in _USES:
        last = own[-1] is mine.predicate[-1] and theirs[-1] is other.predicate[-1]
        return len(shared) >= _MIN_SHARED_STEMS + last
    return mine.has_copula and other.has_copula and _has_one_value(own, theirs, shared, mine.topic)


def _is_name(words: Sequence[_Word]) -> bool:
    """One word, or two that stand together."""
    return len(words) <= _MAX_NAME_WORDS and words[-1].position - words[0].position < _MAX_NAME_WORDS


def _has_one_value(
    own: Sequence[_Word], theirs: Sequence[_Word], shared: frozenset[str], topic: frozenset[str]
) -> bool:
    """The sentences speak of a default, say what is done with the topic, or are nothing but a topic and a name."""
    if not shared.isdisjoint(_ONLY_ONE):
        return True
    named = all(word.is_name for word in (*own, *theirs))
    return len(shared) >= _MIN_SHARED_STEMS and (named or bool(shared - topic))


def _is_scope(own: Sequence[_Word], theirs: Sequence[_Word]) -> bool:
    """What differs says where or when a sentence holds, so both may be true."""
    places = {own[-1].stem, theirs[-1].stem} <= _ENVIRONMENTS
    return places or own[0].before in _SCOPE_WORDS or theirs[0].before in _SCOPE_WORDS


def _are_opposites(one: str, other: str) -> bool:
    """A listed pair, or one word with a prefix that denies it: `sensitive`, `insensitive`."""
    short, long = sorted((one, other), key=len)
    prefixed = long.endswith(short) and long.removesuffix(short) in _OPPOSITE_PREFIXES
    return prefixed or frozenset((one, other)) in _OPPOSITES


def _is_same_spelling(own: Sequence[_Word], theirs: Sequence[_Word]) -> bool:
    """postgres and postgresql, next.js and nextjs."""
    short, long = sorted(
        (re.sub(r"[\W_]", "", "".join(word.stem for word in words)) for words in (own, theirs)), key=len
    )
    return long.startswith(short)
