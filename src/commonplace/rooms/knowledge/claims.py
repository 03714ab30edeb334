"""What a text claims, sentence by sentence, and where two texts cannot both hold.

A sentence is read as a topic and what is told of it. Two sentences clash if they tell different things of one topic
and there can be only one such thing: a number, one of two opposites, the default of something. When in doubt they do not.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.search.stem import stem
from commonplace.search.text import STOP

_COMPARED = 8000
_SENTENCES = 40
_SHOWN = 200
_FEWEST_SHARED = 2
_MANY_SHARED = 4
_SAME_BUT_FOR_DENIAL = 0.8
_SAME_BUT_FOR_NUMBERS = 0.75
_LONGEST_NAME = 2

_words = str.split
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+|[;\n]+|(?<=[\u3002\uff01\uff1f\uff1b])")
_UNTOLD = re.compile(r"^[|#]|[?\uff1f]$")
_ASSIGNED = re.compile(r"(?<=\w)\s*(?::=|=>|->|=|:(?=\s))\s*")
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}](?:[^\W{_CJK}]|['./+#@-])*[^\W{_CJK}+#]|[^\W_{_CJK}]")
_NUMBER = re.compile(r"v?\d+(?:[./-]\d+)*(?:\.x)?[a-z+]{0,3}|[a-z]{2}-[a-z]+-\d")
# Addresses, the numbers of issues and commits, and the commas of large numbers.
_NOISE = re.compile(r"https?://\S+|#\d+|\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40}\b|(?<=\d),(?=\d{3})")
_CHARACTER = re.compile(rf"[{_CJK}]")
_WORDY = re.compile(r"[a-z]+")
_SPAN = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s?-?(ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hours?|days?)\b"
)
_SECONDS = {"ms": 0.001, "mi": 60.0, "s": 1.0, "h": 3600.0, "d": 86400.0}
_COUNTED = {
    word: str(n)
    for n, word in enumerate(_words("zero one two three four five six seven eight nine ten eleven twelve"))
} | {"once": "1", "twice": "2", "thrice": "3", "fifteen": "15", "twenty": "20", "thirty": "30", "sixty": "60"}

_NEGATIONS = frozenset(
    _words(
        "not no never none cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't shouldn't"
        " mustn't without avoid avoids off"
    )
)
_DENIAL_OF = {
    "disable": "enable",
    "disables": "enables",
    "disabled": "enabled",
    "forbid": "allow",
    "forbids": "allows",
    "forbidden": "allowed",
    "unsupported": "supported",
    "false": "true",
}
_PAST = frozenset(_words("was were had wasn't weren't formerly previously earlier"))
_FILLERS = (STOP - frozenset(_words("before after above below"))) | frozenset(
    _words("now currently today please note always must shall may might actually really simply")
)
_LINKS = frozenset(
    _words(
        "is are was were be must should shall may might can could will would has have had do does did never cannot"
        " isn't aren't wasn't weren't can't don't doesn't didn't won't wouldn't shouldn't mustn't"
    )
)
_ACTS = frozenset(
    _words(
        "use uses run runs need needs require requires store stores return returns take takes expect expects defaults"
        " listen listens deploy go goes live lives keep keeps allow allows support supports accept accepts expire"
        " expires retry retries send sends write writes read reads call calls publish publishes logs caches hold holds"
        " start starts stop stops close closes contain contains depend depends point points fail fails wait waits"
        " belong belongs own owns handle handles serve serves expose exposes prefer prefers validates signs hashes"
        " encrypts talk talks connect connects ship ships target targets log sits receives emits times"
    )
)
_ARTICLES = frozenset(_words("a an the our its their his her your my"))
_INDEFINITE = frozenset(_words("a an another some each every any"))
_SCOPING = frozenset(_words("for when if during per and or of while between like unless also"))
_MEANS = frozenset(_words("use uses using via with through prefer prefers by"))


def _stems(listed: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _words(listed))


_ONLY_ONE = _stems("primary default main only sole canonical official standard preferred")
_ATTRIBUTES = _stems(
    "version port region zone branch timeout limit format encoding protocol algorithm framework language database"
    " engine driver broker backend provider owner maintainer license mode strategy timezone locale currency runtime"
    " shell bundler linter formatter orm registry domain interval retention"
)
_SCOPES = _stems(
    "staging production prod dev development test tests testing ci local locally windows linux macos mac ios android"
    " get post put patch delete head monday tuesday wednesday thursday friday saturday sunday frontend client server"
)
_OPPOSITES = frozenset(
    frozenset(stem(word) for word in pair.split("/"))
    for pair in _words(
        "required/optional mandatory/optional allowed/prohibited before/after"
        " above/below synchronous/asynchronous sync/async public/private mutable/immutable stateful/stateless safe/unsafe"
        " automatic/manual automatically/manually blocking/nonblocking inclusive/exclusive sensitive/insensitive"
        " ascending/descending internal/external encrypted/unencrypted encrypted/plaintext supported/deprecated"
        " permanent/temporary static/dynamic"
    )
)


@dataclass(frozen=True, slots=True)
class Clash:
    kind: str
    theirs: str
    yours: str


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it is compared, and what it follows."""

    stem: str
    number: bool
    place: int
    after: str
    indefinite: bool


@dataclass(frozen=True, slots=True)
class Claim:
    text: str
    topic: frozenset[str]
    told: tuple[_Word, ...]
    stems: frozenset[str]
    linked: bool
    """Whether a word says where the topic ends."""
    denied: bool
    past: bool

    @property
    def numbers(self) -> frozenset[str]:
        return frozenset(each for each in self.stems if _NUMBER.fullmatch(each))

    @property
    def said(self) -> tuple[bool, frozenset[str]]:
        return self.denied, self.stems


def extract_claims(content: str) -> list[Claim]:
    """The claims of a text, as far as they are compared; a question is none, nor a heading, nor a row of a table."""
    sentences = (each.strip(" .!\u3002\uff01-*") for each in _SENTENCE.split(content[:_COMPARED]))
    return [_claim(each) for each in sentences if each and not _UNTOLD.search(each)][:_SENTENCES]


def find_clash(yours: Sequence[Claim], theirs: Sequence[Claim]) -> Clash | None:
    """The first two sentences that cannot both hold; what both texts say is not among them."""
    agreed = {claim.said for claim in yours} & {claim.said for claim in theirs}
    own = [claim for claim in yours if claim.said not in agreed]
    others = [claim for claim in theirs if claim.said not in agreed]
    pairs = ((mine, other) for other in others for mine in own)
    return next(
        (Clash(kind, other.text, mine.text) for mine, other in pairs if (kind := _kind(mine, other))), None
    )


def corrects(yours: Sequence[Claim], theirs: Sequence[Claim]) -> bool:
    """One text denies the other, or has a number that the other has not."""
    known = {number for claim in theirs for number in claim.numbers}
    return find_clash(yours, theirs) is not None or any(claim.numbers - known for claim in yours)


def _claim(sentence: str) -> Claim:
    plain = _NOISE.sub("", unicodedata.normalize("NFKC", sentence).lower().replace("\u2019", "'"))
    spoken = _WORD.findall(_SPAN.sub(_in_seconds, _ASSIGNED.sub(" is ", plain)))
    words = [_word(spoken, place) for place, word in enumerate(spoken) if _has_meaning(word)]
    told = _start_of_told(spoken)
    topic = _topic(words, told)
    return Claim(
        sentence[:_SHOWN],
        frozenset(word.stem for word in topic),
        tuple(words[len(topic) :]),
        frozenset(word.stem for word in words),
        told > 0,
        sum(word in _NEGATIONS or word in _DENIAL_OF for word in spoken) % 2 == 1,
        not _PAST.isdisjoint(spoken),
    )


def _in_seconds(span: re.Match[str]) -> str:
    """One spelling for `30s`, `30 seconds` and `0.5 min`."""
    unit = next(seconds for start, seconds in _SECONDS.items() if span[2].startswith(start))
    return f"{float(span[1]) * unit:g}sec"


def _has_meaning(word: str) -> bool:
    return word not in _FILLERS and word not in _NEGATIONS


def _word(spoken: Sequence[str], place: int) -> _Word:
    word, before = spoken[place], place - 1
    while before >= 0 and spoken[before] in _ARTICLES:
        before -= 1
    plain = _COUNTED.get(word) or _DENIAL_OF.get(word) or word.removesuffix("'s")
    return _Word(
        stem(plain) if _WORDY.fullmatch(plain) else plain,
        bool(_NUMBER.fullmatch(plain)),
        place,
        spoken[before] if before >= 0 else "",
        place > 0 and spoken[place - 1] in _INDEFINITE,
    )


def _start_of_told(spoken: Sequence[str]) -> int:
    """The place behind the word that links topic and told, or of the word that says what the topic does; else 0."""
    for place, word in enumerate(spoken):
        if word in _LINKS:
            return place + 1
    return next((place for place, word in enumerate(spoken) if place and word in _ACTS), 0)


def _topic(words: Sequence[_Word], told: int) -> Sequence[_Word]:
    """What stands before that place; without one the first word, with its number."""
    if told:
        return [word for word in words if word.place < told]
    return words[: 2 if len(words) > 1 and words[1].number else 1]


def _kind(mine: Claim, other: Claim) -> str:
    """How two sentences clash, if they do."""
    if mine.past != other.past:
        return ""
    if mine.denied != other.denied:
        shared, together = mine.stems & other.stems, mine.stems | other.stems
        alike = len(shared) >= _FEWEST_SHARED and len(shared) / len(together) >= _SAME_BUT_FOR_DENIAL
        return "polarity" if alike else ""
    if mine.topic != other.topic:
        return "value" if _one_place_for_two(mine, other) else ""
    own, theirs = _besides(mine, other), _besides(other, mine)
    if not own or not theirs:
        return ""
    shared = mine.stems & other.stems
    differ = _numbers_differ(own, theirs, shared) or _names_differ(own, theirs, shared, mine, other)
    return "value" if differ else ""


def _besides(claim: Claim, other: Claim) -> list[_Word]:
    return [word for word in claim.told if word.stem not in other.stems]


def _one_place_for_two(mine: Claim, other: Claim) -> bool:
    """`Redis is the default cache`, `Memcached is the default cache`."""
    told = {word.stem for word in mine.told}
    alone = len(mine.topic) == len(other.topic) == 1
    return alone and told == {word.stem for word in other.told} and not told.isdisjoint(_ONLY_ONE)


def _numbers_differ(own: Sequence[_Word], theirs: Sequence[_Word], shared: frozenset[str]) -> bool:
    """As many numbers on both sides, at least one of them another, and next to nothing else."""
    mine = [word.stem for word in own if word.number]
    others = [word.stem for word in theirs if word.number]
    if not mine or len(mine) != len(others) or all(map(_same_number, mine, others)):
        return False
    further = len(own) + len(theirs) - len(mine) - len(others)
    alike = len(shared) / (len(shared) + further) >= _SAME_BUT_FOR_NUMBERS if shared else False
    return alike and (len(shared) >= _FEWEST_SHARED or not shared.isdisjoint(_ATTRIBUTES))


def _same_number(one: str, other: str) -> bool:
    """3 and 3.11 may be the same version, told more exactly."""
    short, long = sorted((one.lstrip("v").rstrip("+"), other.lstrip("v").rstrip("+")), key=len)
    return long == short or long.startswith(f"{short}.")


def _names_differ(
    own: Sequence[_Word], theirs: Sequence[_Word], shared: frozenset[str], mine: Claim, other: Claim
) -> bool:
    """Another name stands where only one can."""
    if max(len(own), len(theirs)) > _LONGEST_NAME or _is_spelling(own, theirs):
        return False
    pair = frozenset((own[-1].stem, theirs[-1].stem))
    if len(own) == len(theirs) == 1 and pair in _OPPOSITES:
        return True
    scoped = pair <= _SCOPES or own[0].after in _SCOPING or theirs[0].after in _SCOPING
    if scoped or any(_CHARACTER.fullmatch(each) for each in pair):
        return False
    if mine.linked and other.linked and _is_single(own[0], mine.topic, shared):
        return len(shared) >= _FEWEST_SHARED or not mine.topic.isdisjoint(_ATTRIBUTES)
    last = own[-1] is mine.told[-1] and theirs[-1] is other.told[-1]
    if own[0].after in _MEANS and theirs[0].after in _MEANS:
        return len(shared) > (_FEWEST_SHARED if last else _FEWEST_SHARED - 1)
    return last and not own[0].indefinite and len(own) == len(theirs) == 1 and len(shared) >= _MANY_SHARED


def _is_spelling(own: Sequence[_Word], theirs: Sequence[_Word]) -> bool:
    """postgres and postgresql, next.js and nextjs."""
    short, long = sorted(
        (re.sub(r"[\W_]", "", "".join(word.stem for word in words)) for words in (own, theirs)), key=len
    )
    return long.startswith(short)


def _is_single(word: _Word, topic: frozenset[str], shared: frozenset[str]) -> bool:
    """The sentence speaks of the one default, or of an attribute that has one value."""
    labelled = stem(word.after) in _ATTRIBUTES
    return labelled or not topic.isdisjoint(_ATTRIBUTES) or not shared.isdisjoint(_ONLY_ONE)
