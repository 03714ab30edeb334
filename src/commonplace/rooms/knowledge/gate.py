"""What a text must pass before it is kept, decided without a model: pure comparison, nothing is rewritten in meaning."""

import re
from collections import Counter
from dataclasses import dataclass

from commonplace import masking
from commonplace.search import text

NEAR = 0.6
RELATED = 0.25
_LOOP = 0.9
_LOOP_TOKENS = 8
_ALIKE = 0.6
_SENTENCES = 40
_COMPARED = 8000
_FEWEST_SHARED = 3

_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]")
_SENTENCE = re.compile(r"[.!?;\n]+\s*|\n")
_NUMBER = re.compile(r"\d")
_words = str.split
_NEGATIONS = frozenset(
    _words(
        "not no never none cannot can't don't doesn't isn't aren't won't shouldn't mustn't without avoid disable disabled"
        " forbid forbidden unsupported false off"
    )
)
_WORD = re.compile(r"[\w']+")
_INSTRUCTIONS = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override) (?:all |any |the |your |my ){0,3}(?:previous|prior|above|earlier|system)"
    r"|\byou are now\b|\bact as (?:an? |the )?(?:admin|root|system|developer)"
    r"|\b(?:reveal|print|show|send|post|upload|exfiltrate|leak) (?:me |us )?(?:the |your |all |every )?"
    r"(?:system prompt|instructions|secrets?|passwords?|api keys?|tokens?|credentials|\.env)"
    r"|\bdo not (?:tell|inform|mention|reveal)[^.\n]{0,40}\b(?:user|human|anyone|operator)"
    r"|</?(?:system|assistant|user|instructions?|memory)>|\[(?:system|inst)\]"
    r"|\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:ba|z)?sh\b|\bnew instructions?:|\bsystem prompt:"
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    text: str
    flags: tuple[str, ...]
    masked: tuple[str, ...]


def cleaned(given: str) -> Cleaned:
    """Without secrets and hidden characters, and flagged if it reads like orders to a model."""
    visible = _HIDDEN.sub("", given)
    flags = ["hidden_characters"] if visible != given else []
    if _INSTRUCTIONS.search(visible):
        flags.append("instruction_like")
    safe = masking.masked(visible)
    return Cleaned(safe.text, tuple(flags), safe.kinds)


def overlap(one: Counter[str], other: Counter[str]) -> float:
    """Weighted Jaccard of two texts: 1 for the same words as often."""
    together = (one | other).total()
    return (one & other).total() / together if together else 0.0


def is_recall(given: Counter[str], served: Counter[str]) -> bool:
    """Nearly all of the given words stand, as often, in a text that the writer was just handed."""
    total = given.total()
    return total >= _LOOP_TOKENS and (given & served).total() / total >= _LOOP


@dataclass(frozen=True, slots=True)
class Clash:
    kind: str
    theirs: str
    yours: str


def said(content: str) -> "list[Sentence]":
    """The sentences of a text, as far as they are compared."""
    return [Sentence.of(each) for each in _SENTENCE.split(content[:_COMPARED]) if each.strip()][:_SENTENCES]


def clash(yours: "list[Sentence]", theirs: "list[Sentence]") -> Clash | None:
    """The first pair of sentences about the same subject with another value, or where only one denies it."""
    pairs = ((own, other) for other in theirs for own in yours)
    return next(
        (Clash(kind, other.text, own.text) for own, other in pairs if (kind := own.differs(other))), None
    )


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    subject: frozenset[str]
    numbers: frozenset[str]
    denied: bool

    @classmethod
    def of(cls, given: str) -> "Sentence":
        words = [word.lower() for word in _WORD.findall(given)]
        tokens = frozenset(text.tokens(given))
        numbers = frozenset(token for token in tokens if _NUMBER.search(token))
        spoken = frozenset(token for word in words if word in _NEGATIONS for token in text.tokens(word))
        denials = sum(word in _NEGATIONS for word in words)
        return cls(given.strip()[:200], tokens - numbers - spoken, numbers, denials % 2 == 1)

    def differs(self, other: "Sentence") -> str:
        shared = self.subject & other.subject
        if len(shared) < _FEWEST_SHARED or len(shared) / len(self.subject | other.subject) < _ALIKE:
            return ""
        if self.denied != other.denied:
            return "polarity"
        if self.numbers and other.numbers and not self.numbers & other.numbers:
            return "value"
        swapped = len(self.subject - shared) == 1 and len(other.subject - shared) == 1
        return "value" if swapped and len(shared) > _FEWEST_SHARED else ""
