"""A session's bytes in frames, each compressed separately so that reading a page opens only the frames it needs.

Every frame but the last has the same size, so appending rewrites at most one. Measured on transcripts of prose and
code: 1 MB frames at level 6 take 16 % of the raw bytes and open in 1.3 ms; 256 KB frames take 19 %.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace import errors, zstd

FRAME_BYTES = 1024 * 1024

_LEVEL = int(zstd.CompressionParameter.compression_level)
_CHECKSUM = int(zstd.CompressionParameter.checksum_flag)
_FULL_FRAME_OPTIONS = {_LEVEL: 6, _CHECKSUM: 1}
# The last frame is compressed again with every append, so it gets the faster level.
_LAST_FRAME_OPTIONS = {_LEVEL: 3, _CHECKSUM: 1}

Bytes = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class FramePosition:
    """Where a frame is in its session; lines are counted by their newlines."""

    first_byte: int
    raw_bytes: int
    lines_before: int
    lines_through: int

    @property
    def end(self) -> int:
        return self.first_byte + self.raw_bytes

    @property
    def is_full(self) -> bool:
        return self.raw_bytes == FRAME_BYTES


@dataclass(frozen=True, slots=True)
class PackedFrame:
    position: FramePosition
    sha256: str
    body: bytes


@dataclass(frozen=True, slots=True)
class StoredFrame:
    """A frame as it is stored: with its body, or with the address of the body outside of the store."""

    position: FramePosition
    sha256: str
    address: str
    body: bytes
    stored_bytes: int


def pack_frames(last: bytes, first_byte: int, lines_before: int, appended: Bytes) -> list[PackedFrame]:
    """Pack `last`, a frame that starts at `first_byte` and is not full, followed by `appended`."""
    frames = []
    for raw in _split_frames(last, memoryview(appended)):
        lines = lines_before + raw.count(b"\n")
        position = FramePosition(first_byte, len(raw), lines_before, lines)
        frames.append(pack_frame(position, raw))
        first_byte, lines_before = position.end, lines
    return frames


def pack_frame(position: FramePosition, raw: bytes) -> PackedFrame:
    body = zstd.compress(raw, options=_FULL_FRAME_OPTIONS if position.is_full else _LAST_FRAME_OPTIONS)
    return PackedFrame(position, hashlib.sha256(raw).hexdigest(), body)


def _split_frames(last: bytes, appended: memoryview) -> Iterator[bytes]:
    at = FRAME_BYTES - len(last)
    yield last + appended[:at]
    while at < len(appended):
        yield bytes(appended[at : at + FRAME_BYTES])
        at += FRAME_BYTES


def open_frame(position: FramePosition, sha256: str, body: bytes) -> bytes:
    """Decompress a frame; raise DamagedArchive unless the bytes match their hash."""
    try:
        raw = zstd.ZstdDecompressor().decompress(body, max_length=position.raw_bytes + 1)
    except zstd.ZstdError:
        raise damaged_frame(position) from None
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise damaged_frame(position)
    return raw


class DamagedArchive(errors.Unavailable):
    """Stored bytes of this session are missing or altered; other sessions are not affected."""


def damaged_frame(position: FramePosition) -> DamagedArchive:
    return _damaged_archive(position, "damaged")


def missing_frame(position: FramePosition) -> DamagedArchive:
    return _damaged_archive(position, "missing")


def _damaged_archive(position: FramePosition, how: str) -> DamagedArchive:
    return DamagedArchive(
        f"The stored bytes {position.first_byte} to {position.end} of this session are {how}.",
        hint="Restore them from a backup, or upload the session under another session_id.",
    )
