"""The files that a patch in the format of `apply_patch` changes."""

import re
from typing import Any

_FILE_HEADER = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to):[ \t]*(.*?)[ \t\r]*$", re.MULTILINE
)


def list_patched_files(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Both names of a file that is moved are listed."""
    texts = [_join_text(arguments.get(name)) for name in ("command", "input", "patch", "patchText")]
    return tuple(dict.fromkeys(path for text in texts for path in _FILE_HEADER.findall(text) if path))


def _join_text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
