"""Lines of transcripts with their secrets masked: shorter for clients and readers, in place for stored bytes.

Masking a line depends on that line alone. In place, a mask has as many bytes as the secret had, so byte offsets and line
numbers stay what they were; `[masked: kind]` is filled up with asterisks, which `collapse_masks` removes for a reader.
"""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from commonplace.masking import mask_secrets, render_mask
from commonplace.masking.session_ids import mask_session_ids

_FILL = "*"
SESSION_KIND = "session id"
_ESCAPE_OR_CHARACTER = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\"\\,:\[\]{}\s]", re.DOTALL)
_FILLED_MASK = re.compile(rb"(\[masked: [a-z0-9. ]{1,40}\])\*+")
_MASK = re.compile(rb"\[masked: [a-z0-9. ]{1,40}\]|\*+|_~[0-9a-f]{32}~")
MAX_MASK_BYTES = 64
"""No mask without its asterisks is longer."""

RenderMask = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class MaskedBytes:
    content: bytes
    counts: Counter[str] = field(default_factory=Counter)
    changed_lines: int = 0


def mask_line(line: bytes) -> MaskedBytes:
    """The line with its secrets masked; other bytes stay as they are, and JSON stays valid."""
    return _mask_line(line, render_mask, _redump_masked)


def mask_line_in_place(line: bytes) -> MaskedBytes:
    """The line with its secrets masked, in the same number of bytes; JSON stays valid."""
    return _mask_line(line, _render_in_place, _mask_characters)


def mask_lines_in_place(content: bytes) -> MaskedBytes:
    """The lines of these bytes masked in place. Lines that are not JSON records are masked together, because a key may
    stand in many of them; what follows the last newline counts as a line."""
    lines, counts = content.split(b"\n"), Counter[str]()
    masked: list[bytes] = []
    changed = 0
    for is_record, group in groupby(lines, _looks_like_record):
        before = list(group)
        texts = before if is_record else [b"\n".join(before)]
        after: list[bytes] = []
        for text in texts:
            safe = mask_line_in_place(text)
            counts.update(safe.counts)
            after += safe.content.split(b"\n")
        changed += sum(old != new for old, new in zip(before, after, strict=True))
        masked += after
    return MaskedBytes(b"\n".join(masked), counts, changed)


def mask_lines_for_reading(lines: Sequence[bytes]) -> list[bytes]:
    """Stored lines without secrets and without the asterisks that fill masks up."""
    return [collapse_masks(line) for line in mask_lines_in_place(b"\n".join(lines)).content.split(b"\n")]


def collapse_masks(content: bytes) -> bytes:
    return _FILLED_MASK.sub(rb"\1", content) if b"[masked: " in content else content


def matches_masked(sent: bytes | bytearray, stored: bytes, start: int) -> bool:
    """Whether `stored`, from `start` on, is `sent` but for masks."""
    at = 0
    end = start + len(sent)
    for match in _MASK.finditer(stored):
        first, last = max(match.start(), start) - start, min(match.end(), end) - start
        if last <= first:
            continue
        if sent[at:first] != stored[start + at : start + first]:
            return False
        at = last
    return sent[at:] == stored[start + at : end]


def _looks_like_record(line: bytes) -> bool:
    return line.startswith(b"{") and line.rstrip().endswith(b"}")


def _mask_line(line: bytes, render: RenderMask, repair: Callable[[str, str], str]) -> MaskedBytes:
    text = line.decode("utf-8", "surrogateescape")
    hidden, ids = mask_session_ids(text)
    masked = mask_secrets(hidden, render)
    counts = Counter(masked.counts)
    if ids:
        counts[SESSION_KIND] = ids
    if not counts:
        return MaskedBytes(line)
    safe = masked.text
    if masked.counts and _parse_json(text) is not None and _parse_json(safe) is None:
        safe = repair(hidden, safe)
    return MaskedBytes(safe.encode("utf-8", "surrogateescape"), counts)


def _render_in_place(secret: str, kind: str) -> str:
    """A mask with as many bytes as the secret and the same newlines; asterisks alone if the name does not fit."""
    first, *others = (_count_bytes(line) for line in secret.split("\n"))
    mask = render_mask(secret, kind)
    filled = mask.ljust(first, _FILL) if len(mask) <= first else _FILL * first
    return "\n".join([filled, *(_FILL * size for size in others)])


def _mask_characters(text: str, _masked: str) -> str:
    """For the rare line whose JSON a mask would break: mask character by character and keep quotes and escapes."""
    safe = mask_secrets(text, lambda secret, _: _ESCAPE_OR_CHARACTER.sub(_fill_character, secret)).text
    if _parse_json(safe) is not None and _count_bytes(safe) == _count_bytes(text):
        return safe
    return "{}".ljust(_count_bytes(text))


def _fill_character(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith("\\") else _FILL * _count_bytes(match[0])


def _redump_masked(text: str, _masked: str) -> str:
    return json.dumps(_mask_value(_parse_json(text)), ensure_ascii=False) + "\n" * text.endswith("\n")


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _parse_json(text: str) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _mask_value(value: Any) -> Any:
    """The value with every string in it masked."""
    if isinstance(value, str):
        return mask_secrets(value).text
    if isinstance(value, list):
        return [_mask_value(item) for item in value]
    if isinstance(value, dict):
        return {mask_secrets(key).text: _mask_value(item) for key, item in value.items()}
    return value
