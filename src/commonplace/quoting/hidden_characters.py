"""Characters that a reader does not see, or that change the order of what it sees: they are shown as escapes, not run.

In JSON an escape such as `\\u202e` has the same value, so nothing is lost. Joiners between letters or emoji of other
scripts are ordinary text and stay. Imports nothing heavy: hooks use it.
"""

import re

_HIDDEN = (
    "\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"
)
_JOINERS = "\u200c\u200d"
HIDDEN_CLASS = f"[\u0080-\u009f{_HIDDEN}]"
_HIDDEN_CHARACTER = re.compile(
    f"{HIDDEN_CLASS}|(?<=[\x00-\x7f])[{_JOINERS}]|^[{_JOINERS}]|[{_JOINERS}](?=[\x00-\x7f]|$)"
)
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_LINE_BREAK = re.compile(r"[\r\n\x0b\x0c\x85\u2028\u2029]+\s*")


def has_hidden_characters(text: str) -> bool:
    return not text.isascii() and _HIDDEN_CHARACTER.search(text) is not None


def remove_hidden_characters(text: str) -> str:
    return text if text.isascii() else _HIDDEN_CHARACTER.sub("", text)


def escape_hidden_characters(text: str) -> str:
    """The text with hidden characters as `\\uXXXX`; in a JSON text this changes no value."""
    return text if text.isascii() else _HIDDEN_CHARACTER.sub(_escape_match, text)


def escape_control_characters(text: str) -> str:
    """Plain text with hidden and control characters as escapes; line ends and tabs stay."""
    return _CONTROL_CHARACTER.sub(_escape_match, escape_hidden_characters(text))


def quote_line(text: str) -> str:
    """The text on one line, with nothing hidden, so that it cannot imitate the lines around it."""
    return escape_control_characters(_LINE_BREAK.sub(" ⏎ ", text.strip()))


def _escape_match(match: re.Match[str]) -> str:
    encoded = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[at : at + 2].hex()}" for at in range(0, len(encoded), 2))
