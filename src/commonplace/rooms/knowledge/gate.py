"""What a text must pass before it is kept, decided without a model: pure comparison, nothing is rewritten in meaning."""

import re
from collections import Counter
from dataclasses import dataclass

from commonplace import masking

NEAR = 0.6
RELATED = 0.25
_LOOP = 0.9
_LOOP_TOKENS = 8

_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]")
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
