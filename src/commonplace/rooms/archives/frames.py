"""A session's bytes in frames: each is compressed by itself, so that a page costs its own frames and no others.

Every frame but the last has the same size, so appending rewrites at most one. Measured on transcripts of prose and
code: 1 MB frames at level 6 take 16 % of the raw bytes and open in 1.3 ms; 256 KB frames take 19 %.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace import errors, zstd

FRAME = 1024 * 1024

# The last frame is compressed again with every append, so it gets the faster level.
_LEVEL, _CHECKED = (
    int(zstd.CompressionParameter.compression_level),
    int(zstd.CompressionParameter.checksum_flag),
)
_FULL = {_LEVEL: 6, _CHECKED: 1}
_LAST = {_LEVEL: 3, _CHECKED: 1}

Bytes = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Place:
    """Where a frame stands in its session; lines are counted by their ends."""

    first_byte: int
    raw_bytes: int
    lines_before: int
    lines_through: int

    @property
    def end(self) -> int:
        return self.first_byte + self.raw_bytes

    @property
    def full(self) -> bool:
        return self.raw_bytes == FRAME


@dataclass(frozen=True, slots=True)
class Frame:
    place: Place
    sha256: str
    body: bytes


def packed(last: bytes, first_byte: int, lines_before: int, more: Bytes) -> list[Frame]:
    """The frames of `last`, which starts at `first_byte` and is not full, with `more` appended."""
    frames = []
    for raw in _pieces(last, memoryview(more)):
        lines = lines_before + raw.count(b"\n")
        place = Place(first_byte, len(raw), lines_before, lines)
        body = zstd.compress(raw, options=_FULL if place.full else _LAST)
        frames.append(Frame(place, hashlib.sha256(raw).hexdigest(), body))
        first_byte, lines_before = place.end, lines
    return frames


def _pieces(last: bytes, more: memoryview) -> Iterator[bytes]:
    at = FRAME - len(last)
    yield last + more[:at]
    while at < len(more):
        yield bytes(more[at : at + FRAME])
        at += FRAME


def opened(place: Place, sha256: str, body: bytes) -> bytes:
    """What was packed, or a refusal: never other bytes."""
    try:
        raw = zstd.ZstdDecompressor().decompress(body, max_length=place.raw_bytes + 1)
    except zstd.ZstdError:
        raise damaged(place) from None
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise damaged(place)
    return raw


class Damaged(errors.Unavailable):
    """Stored bytes are not as they came in; those of other sessions are."""


def damaged(place: Place) -> Damaged:
    return _lost(place, "damaged")


def missing(place: Place) -> Damaged:
    return _lost(place, "missing")


def _lost(place: Place, how: str) -> Damaged:
    return Damaged(
        f"The stored bytes {place.first_byte} to {place.end} of this session are {how}.",
        hint="Restore them from a backup, or upload the session under another id.",
    )
