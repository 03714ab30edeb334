"""Bodies beyond the ordinary size: announced, and few at a time, so that many clients cannot fill the memory."""

from typing import Self

from commonplace import errors

ORDINARY = 4 * 1024 * 1024
# The largest part of a transcript, 16 MB of text, with every other character escaped.
LARGEST = 33 * 1024 * 1024
_AT_ONCE = 2


class Large:
    """Judges one body by the length that its headers announce, then counts its bytes while it is read."""

    _reading = 0

    def __init__(self, announced: str | None, limit: int = LARGEST, ordinary: int = ORDINARY) -> None:
        self._limit = min(limit, ordinary) if announced is None else limit
        length = "0" if announced is None else announced
        self.grow(int(length) if length.isdecimal() else self._limit + 1)
        self._placed = int(length) > ordinary
        if self._placed and Large._reading >= _AT_ONCE:
            raise errors.TooMany(
                f"{_AT_ONCE} bodies of more than {ordinary} bytes are being read.",
                hint="Try again in a moment, or send less at once.",
                retry_after=1,
            )

    def __enter__(self) -> Self:
        Large._reading += self._placed
        return self

    def __exit__(self, *_: object) -> None:
        Large._reading -= self._placed

    def grow(self, size: int) -> None:
        if size > self._limit:
            raise errors.TooLarge(f"The body is larger than {self._limit} bytes.", hint="Send less at once.")
