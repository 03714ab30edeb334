"""The files that a patch in the format of `apply_patch` changes."""

import re
from typing import Any

_HEADER = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)


def files(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Where a file is moved, both of its names count."""
    texts = [_text(arguments.get(name)) for name in ("command", "input", "patch", "patchText")]
    return tuple(dict.fromkeys(path for text in texts for path in _HEADER.findall(text) if path))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
