"""Paths of knowledge files: relative names that mean the same file on every machine. Nothing is changed silently."""

import re
import unicodedata

from commonplace.arguments import Unfit

LONGEST = 240

_DEVICES = re.compile(
    r"(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\..*)?"
)
_ESCAPED = re.compile(r"%(2e|2f|5c|00)", re.IGNORECASE)
# Control, format (bidirectional marks among them), surrogates, private use, line and paragraph ends.
_UNREADABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def checked(path: str) -> str:
    """The path as it was given, or a ValueError that names the rule it breaks."""
    if wrong := _wrong(path):
        raise Unfit(wrong, "Give a relative path with '/' between its parts, such as notes/cart.md")
    return path


def _wrong(path: str) -> str:
    if not path or len(path) > LONGEST:
        return f"a path has 1 to {LONGEST} characters"
    if any(unicodedata.category(each) in _UNREADABLE for each in path):
        return "a path has no control or format characters"
    if unicodedata.normalize("NFC", path) != path:
        return "a path is in Unicode's composed form (NFC)"
    if "\\" in path or ":" in path:
        return "a path is relative, its parts are separated by '/', and it has no ':'"
    if _ESCAPED.search(path):
        return "a path has no percent-escaped dots or separators"
    return next((wrong for part in path.split("/") if (wrong := _wrong_part(part))), "")


def _wrong_part(part: str) -> str:
    if not part:
        return "a path is relative and has no empty part"
    if part.startswith("."):
        return "no part of a path begins with a dot"
    if part != part.strip() or part.endswith("."):
        return "no part of a path begins or ends with a blank, or ends with a dot"
    return "a path has no name that Windows reserves" if _DEVICES.fullmatch(part.lower()) else ""
