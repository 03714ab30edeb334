"""What came in, unpacked: nothing is believed before it is counted, and every member is read to its end."""

import base64
import binascii
import zlib
from collections.abc import Callable
from typing import Literal, Protocol

from commonplace import errors, zstd

Encoding = Literal["identity", "gzip", "zstd"]

_PIECE = 64 * 1024
_MEMBERS = 1024
_GZIP = 16 + zlib.MAX_WBITS
# No part is larger than 16 MB, so no honest one needs a window beyond that.
_WINDOW = {int(zstd.DecompressionParameter.window_log_max): 24}


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: zlib.decompressobj(_GZIP),
    "zstd": lambda: zstd.ZstdDecompressor(options=_WINDOW),
}


def unpacked(body: bytes, encoding: Encoding, limit: int) -> bytes | bytearray:
    """The bytes that were packed; more than `limit` of them are refused while they are counted."""
    if encoding == "identity":
        if len(body) > limit:
            raise _too_large(limit)
        return body
    return _inflated(memoryview(body), encoding, limit)


def from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise errors.Invalid("content_gzip_base64 is no base64.", hint="Send base64 of gzip.") from None


def _inflated(body: memoryview, encoding: Encoding, limit: int) -> bytearray:
    out, at = bytearray(), 0
    for _ in range(_MEMBERS):
        try:
            at = _member(body, at, _DECODERS[encoding](), out, limit)
        except (zlib.error, zstd.ZstdError) as broken:
            raise errors.Invalid(f"The {encoding} is broken at byte {at}: {broken}.", hint=_AGAIN) from None
        if at == len(body):
            return out
    raise errors.Invalid(f"The {encoding} has more than {_MEMBERS} members.", hint="Compress it as one.")


def _member(body: memoryview, at: int, decoder: _Decoder, out: bytearray, limit: int) -> int:
    """Read one member to its end; where the next one begins. In pieces, so that no tail is copied again and again."""
    while not decoder.eof:
        piece = bytes(body[at : at + _PIECE])
        if not piece:
            raise errors.Invalid("The compressed body is truncated.", hint=_AGAIN)
        out += decoder.decompress(piece, max_length=limit - len(out) + 1)
        if len(out) > limit:
            raise _too_large(limit)
        at += len(piece)
    return at - len(decoder.unused_data)


def _too_large(limit: int) -> errors.TooLarge:
    return errors.TooLarge(
        f"A part has at most {limit} bytes, unpacked.", hint="Send the session in smaller parts."
    )


_AGAIN = "Compress it again and send it whole."
