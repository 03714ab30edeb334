"""Validate paths of knowledge files: relative names that mean the same file on every machine. No path is changed."""

import re
import unicodedata

from commonplace.arguments import InvalidValue

MAX_PATH_CHARACTERS = 240

_WINDOWS_DEVICES = re.compile(
    r"(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\..*)?"
)
_PERCENT_ESCAPED = re.compile(r"%(2e|2f|5c|00)", re.IGNORECASE)
# Control, format (including bidirectional marks), surrogates, private use, line and paragraph separators.
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def validate_path(path: str) -> str:
    """The path unchanged, or a ValueError that names the rule it breaks."""
    if problem := _find_problem(path):
        raise InvalidValue(
            problem, "Use a relative path with '/' between its parts, for example notes/cart.md"
        )
    return path


def _find_problem(path: str) -> str:
    if not path or len(path) > MAX_PATH_CHARACTERS:
        return f"a path must have 1 to {MAX_PATH_CHARACTERS} characters"
    if any(unicodedata.category(character) in _FORBIDDEN_CATEGORIES for character in path):
        return "a path must not contain control or format characters"
    if unicodedata.normalize("NFC", path) != path:
        return "a path must be in Unicode normalization form C (NFC)"
    if "\\" in path or ":" in path:
        return "a path must be relative, use '/' as separator and not contain ':'"
    if _PERCENT_ESCAPED.search(path):
        return "a path must not contain percent-escaped dots or separators"
    return next((problem for part in path.split("/") if (problem := _find_part_problem(part))), "")


def _find_part_problem(part: str) -> str:
    if not part:
        return "a path must be relative and without empty parts"
    if part.startswith("."):
        return "no part of a path may begin with a dot"
    if part != part.strip() or part.endswith("."):
        return "no part of a path may begin or end with a blank, or end with a dot"
    return (
        "a path must not contain a name that Windows reserves"
        if _WINDOWS_DEVICES.fullmatch(part.lower())
        else ""
    )
