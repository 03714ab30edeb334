"""Cleaning of a text before it is stored: secrets masked, hidden characters removed, orders to a model flagged.

By patterns alone, without a model; the meaning of the text is never changed.
"""

import re
from dataclasses import dataclass

from commonplace import masking

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
class CleanText:
    text: str
    flags: tuple[str, ...]
    masked: tuple[str, ...]
    """The kinds of secrets that were masked."""


def clean_text(original: str) -> CleanText:
    """The text without secrets and hidden characters, flagged if it reads like instructions to a model."""
    visible = _HIDDEN.sub("", original)
    flags = ["hidden_characters"] if visible != original else []
    if _INSTRUCTIONS.search(visible):
        flags.append("instruction_like")
    safe = masking.mask_secrets(visible)
    return CleanText(safe.text, tuple(flags), safe.kinds)
