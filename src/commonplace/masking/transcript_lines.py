"""Lines of transcripts with their secrets masked: shorter for clients and readers, in place for stored bytes.

Masking a line depends on that line alone. In place, a mask has as many bytes as the secret had, so byte offsets and line
numbers stay what they were; `[masked: kind]` is filled up with asterisks, which `collapse_masks` removes for a reader.
"""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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


def mask_lines_in_place(content: bytes, end: int | None = None) -> MaskedBytes:
    """The bytes with their lines up to `end` masked in place; what follows the last newline counts as a line.

    The lines of a part are never held beside its bytes: 16 MB of them would take 100 MB.
    """
    pieces: list[bytes | memoryview] = []
    counts, changed, at = Counter[str](), 0, 0
    for first, last in _find_texts(content, len(content) if end is None else end):
        before = content[first:last]
        masked = mask_line_in_place(before)
        if masked.counts:
            pieces += [memoryview(content)[at:first], masked.content]
            counts.update(masked.counts)
            changed += _count_changed_lines(before, masked.content)
            at = last
    return MaskedBytes(b"".join([*pieces, memoryview(content)[at:]]) if counts else content, counts, changed)


def mask_lines_for_reading(content: bytes) -> Iterator[bytes]:
    """Stored lines one after the other, without secrets and without the asterisks that fill masks up."""
    for first, last in _find_texts(content, len(content)):
        yield from map(collapse_masks, mask_line_in_place(content[first:last]).content.split(b"\n"))


def _find_texts(content: bytes, end: int) -> Iterator[tuple[int, int]]:
    """Where each text begins and ends that is masked by itself: a line that is a JSON record, or all lines between two
    of them, because a key may stand in many lines."""
    first = at = 0
    while at <= end:
        last = content.find(b"\n", at, end)
        last = end if last < 0 else last
        if _looks_like_record(content[at:last]):
            if first < at:
                yield first, at - 1
            yield at, last
            first = last + 1
        at = last + 1
    if first <= end:
        yield first, end


def _count_changed_lines(before: bytes, after: bytes) -> int:
    return sum(old != new for old, new in zip(before.split(b"\n"), after.split(b"\n"), strict=True))


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
