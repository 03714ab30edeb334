"""Decode the body of an upload (gzip, zstd, base64) within a size limit, however many members it has."""

import base64
import binascii
import zlib
from collections.abc import Callable
from typing import Literal, Protocol

from commonplace import errors, zstd

ContentEncoding = Literal["identity", "gzip", "zstd"]

_PIECE_BYTES = 64 * 1024
_MAX_MEMBERS = 1024
_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS
# A part has at most 16 MB, so a larger window is never needed.
_ZSTD_OPTIONS = {int(zstd.DecompressionParameter.window_log_max): 24}


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: zlib.decompressobj(_GZIP_WINDOW_BITS),
    "zstd": lambda: zstd.ZstdDecompressor(options=_ZSTD_OPTIONS),
}


def decode_body(body: bytes, encoding: ContentEncoding, limit: int) -> bytes:
    """Decode an uploaded body; refuse it as soon as it exceeds `limit` bytes."""
    if encoding == "identity":
        if len(body) > limit:
            raise _part_too_large(limit)
        return body
    return _decompress(memoryview(body), encoding, limit)


def decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise errors.Invalid(
            "content_gzip_base64 is not valid base64.", hint="Send base64 of gzip."
        ) from None


def _decompress(body: memoryview, encoding: ContentEncoding, limit: int) -> bytes:
    out, at = bytearray(), 0
    for _ in range(_MAX_MEMBERS):
        try:
            at = _decompress_member(body, at, _DECODERS[encoding](), out, limit)
        except (zlib.error, zstd.ZstdError) as error:
            raise errors.Invalid(f"Invalid {encoding} at byte {at}: {error}.", hint=_SEND_AGAIN) from None
        if at == len(body):
            return bytes(out)
    raise errors.Invalid(
        f"The {encoding} has more than {_MAX_MEMBERS} members.", hint="Compress it as one member."
    )


def _decompress_member(body: memoryview, at: int, decoder: _Decoder, out: bytearray, limit: int) -> int:
    """Decompress one member and return where the next one begins. Feeds small pieces so that the tail is not copied
    for every member."""
    while not decoder.eof:
        piece = bytes(body[at : at + _PIECE_BYTES])
        if not piece:
            raise errors.Invalid("The compressed body is truncated.", hint=_SEND_AGAIN)
        out += decoder.decompress(piece, max_length=limit - len(out) + 1)
        if len(out) > limit:
            raise _part_too_large(limit)
        at += len(piece)
    return at - len(decoder.unused_data)


def _part_too_large(limit: int) -> errors.TooLarge:
    return errors.TooLarge(
        f"A part has at most {limit} bytes after decompression.", hint="Send the session in smaller parts."
    )


_SEND_AGAIN = "Compress it again and send it whole."
