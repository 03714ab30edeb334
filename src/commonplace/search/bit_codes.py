"""Vectors as codes of one bit per dimension: 48 bytes each, so that a million are searched in milliseconds.

The codes only choose candidates; their order comes from the stored values. Codes of rows that are gone stay until
the next rebuild: the query that reads the values drops them.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

_WORD_BITS = 64
_CHUNK_CODES = 32_768
# Reading the codes takes the time. With many codes, half of the bits choose candidates for the other half: on real
# vectors 0.5 % of the ten nearest are lost when one in eight is kept of eight thousand, fewer of more.
_MIN_CODES_TO_HALVE = 200_000
_LIKELY_SHARE = 32
_SAMPLE_STEP = 16
_BYTE = 256
_REBUILD_GROWTH = 4
_MIN_BUILT_CODES = 256

Vector = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint64]
Distances = npt.NDArray[np.uint8 | np.uint16]


def pack_vector(vector: Vector) -> bytes:
    """A unit vector as signed bytes: a quarter of the size, the same order."""
    scale = 127.0 / max(float(np.abs(vector).max()), 1e-9)
    return bytes(np.rint(vector * scale).astype(np.int8).tobytes())


def measure_similarities(question: Vector, values: Iterable[bytes]) -> list[float]:
    """The cosine of the question to each packed vector."""
    matrix = _unpack_vectors(values, len(question))
    if not len(matrix):
        return []
    lengths = np.linalg.norm(matrix, axis=1)
    return [float(value) for value in (matrix @ question) / np.maximum(lengths, 1e-9)]


def _unpack_vectors(values: Iterable[bytes], dimensions: int) -> Vector:
    joined = b"".join(values)
    return np.frombuffer(joined, np.int8).reshape(-1, dimensions).astype(np.float32)


@dataclass
class BitCodes:
    """The codes of one project and model, in the order in which their rows were added."""

    dimensions: int
    size: int = 0
    last: int = 0
    built_at: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    _centre: Any = None
    _at: Any = None
    _bits: Any = None

    @property
    def is_outgrown(self) -> bool:
        """Was the centre computed from too few vectors?"""
        return self.size > _REBUILD_GROWTH * max(self.built_at, _MIN_BUILT_CODES)

    def add_rows(self, rows: list[tuple[int, bytes]]) -> None:
        matrix = _unpack_vectors((value for _, value in rows), self.dimensions)
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
        if self._centre is None:
            self._centre = matrix.mean(axis=0)
        self._reserve_rows(self.size + len(rows))
        self._at[self.size : self.size + len(rows)] = [at for at, _ in rows]
        self._bits[:, self.size : self.size + len(rows)] = self._encode_vectors(matrix).T
        self.size += len(rows)
        self.last = rows[-1][0]

    def find_nearest(self, question: Vector, limit: int) -> list[int]:
        """The rows whose codes differ from the question's in the fewest bits."""
        if self.size <= limit:
            row_numbers: list[int] = self._at[: self.size].tolist() if self.size else []
            return row_numbers
        code, bits = self._encode_vectors(question[None, :])[0], self._bits[:, : self.size]
        half = -(-len(code) // 2) if self.size > _MIN_CODES_TO_HALVE else len(code)
        differing = _count_differing_bits(code[:half], list(bits[:half]))
        likely = _pick_least(differing, limit) if half == len(code) else _pick_likely(differing, limit)
        differing = differing[likely].astype(np.uint16)
        if half < len(code):
            differing += _count_differing_bits(code[half:], [row[likely] for row in bits[half:]])
        nearest = np.argsort(differing, kind="stable")[:limit]
        at: list[int] = self._at[likely[nearest]].tolist()
        return at

    def _encode_vectors(self, matrix: Vector) -> Words:
        bits = np.packbits(matrix > self._centre, axis=1)
        spare = -bits.shape[1] % (_WORD_BITS // 8)
        return np.pad(bits, ((0, 0), (0, spare))).view(np.uint64)

    def _reserve_rows(self, size: int) -> None:
        words = -(-self.dimensions // _WORD_BITS)
        if self._at is None:
            self._at, self._bits = np.empty(0, np.int64), np.empty((words, 0), np.uint64)
        if size > len(self._at):
            room = max(size, len(self._at) * 5 // 4, 1024)
            at, bits = np.empty(room, np.int64), np.empty((words, room), np.uint64)
            at[: self.size], bits[:, : self.size] = self._at[: self.size], self._bits[:, : self.size]
            self._at, self._bits = at, bits


class _Scratch(threading.local):
    """Memory that each thread uses again: the system clears new memory page by page."""

    def __init__(self) -> None:
        self._bytes: Any = np.empty(0, np.uint8)

    def reserve_zeros(self, size: int, dtype: Any) -> Any:
        needed = size * np.dtype(dtype).itemsize
        if len(self._bytes) < needed:
            self._bytes = np.empty(needed + needed // 4, np.uint8)
        zeros = self._bytes[:needed].view(dtype)
        zeros.fill(0)
        return zeros


_scratch = _Scratch()


def _count_differing_bits(code: Words, rows: Sequence[Words]) -> Any:
    """The number of bits in which each column differs from the code, by chunks that fit the processor's cache; valid until
    the thread counts again."""
    narrow = len(code) * _WORD_BITS < _BYTE
    distances: Any = _scratch.reserve_zeros(len(rows[0]), np.uint8 if narrow else np.uint16)
    differing, counts = np.empty(_CHUNK_CODES, np.uint64), np.empty(_CHUNK_CODES, np.uint8)
    for start in range(0, len(distances), _CHUNK_CODES):
        chunk = distances[start : start + _CHUNK_CODES]
        for word, row in zip(code, rows, strict=True):
            np.bitwise_xor(row[start : start + _CHUNK_CODES], word, out=differing[: len(chunk)])
            chunk += np.bitwise_count(differing[: len(chunk)], out=counts[: len(chunk)])
    return distances


def _pick_least(distances: Distances, count: int) -> npt.NDArray[np.intp]:
    """The indexes of the smallest `most`, and of those equal to the largest of them."""
    return _find_at_most(distances, _find_threshold(distances, count))


def _pick_likely(distances: Distances, min_count: int) -> npt.NDArray[np.intp]:
    """About one in `_LIKELY_SHARE`, by a threshold from a sample; at least the smallest `least`."""
    sample = distances[::_SAMPLE_STEP]
    likely = _find_at_most(distances, _find_threshold(sample, max(1, len(sample) // _LIKELY_SHARE)))
    return likely if len(likely) >= min_count else _pick_least(distances, min_count)


def _find_at_most(distances: Distances, threshold: Any) -> npt.NDArray[np.intp]:
    """The indexes of those up to the threshold, by chunks: an array for all of them would be new memory each time."""
    starts = range(0, len(distances), _CHUNK_CODES)
    parts = [np.flatnonzero(distances[start : start + _CHUNK_CODES] <= threshold) + start for start in starts]
    return np.concatenate(parts)


def _find_threshold(distances: Distances, count: int) -> Any:
    return np.partition(distances, count - 1)[count - 1]
