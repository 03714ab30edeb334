"""The words of a session in passages of a few utterances: large enough that they are few, small enough to show."""

from collections.abc import Iterable, Sequence

import msgspec

from commonplace import zstd
from commonplace.search import text
from commonplace.transcripts.reader import Utterance

SIZE = 3000
_SPOKEN = ("user", "assistant", "summary", "tool")
_OF_A_CALL = 120
_OF_AN_UTTERANCE = 24_000


class Piece(msgspec.Struct, array_like=True, frozen=True):
    line: int
    role: str
    at: int | None
    text: str


class Passage(msgspec.Struct, array_like=True, frozen=True):
    n: int
    pieces: list[Piece]

    @property
    def text(self) -> str:
        return "\n".join(piece.text for piece in self.pieces)

    @property
    def at(self) -> int | None:
        return next((piece.at for piece in self.pieces if piece.at is not None), None)

    @property
    def is_full(self) -> bool:
        return sum(len(piece.text) for piece in self.pieces) >= SIZE // 2


def grown(last: Passage | None, first: int, utterances: Iterable[Utterance]) -> list[Passage]:
    """The passages of these utterances; the first goes on where the last one, which is not full, stopped."""
    number, pieces = (last.n, list(last.pieces)) if last else (first, [])
    found: list[Passage] = []
    size = sum(len(piece.text) for piece in pieces)
    for piece in _pieces(utterances):
        if pieces and size + len(piece.text) > SIZE:
            found.append(Passage(number, pieces))
            number, pieces, size = number + 1, [], 0
        pieces.append(piece)
        size += len(piece.text)
    return [*found, Passage(number, pieces)] if pieces else found


def _pieces(utterances: Iterable[Utterance]) -> Iterable[Piece]:
    for each in utterances:
        if each.role not in _SPOKEN:
            continue
        words = (
            f"{each.tool} {each.text}"[:_OF_A_CALL] if each.role == "tool" else each.text[:_OF_AN_UTTERANCE]
        )
        for cut in text.passages(words, SIZE):
            if cut:
                yield Piece(each.line, each.role, each.at, cut)


def packed(passage: Passage) -> bytes:
    return zstd.compress(msgspec.msgpack.encode(passage.pieces), level=3)


def unpacked(body: bytes) -> list[Piece]:
    return msgspec.msgpack.decode(zstd.decompress(body), type=list[Piece])


def best(pieces: Sequence[Piece], asked: set[str]) -> Piece:
    """The utterance that has the most of the words; of several, what people and assistants said first."""
    return max(pieces, key=lambda piece: (_shared(piece.text, asked), piece.role != "tool"))


def snippet(words: str, asked: set[str], most: int) -> str:
    """The part of a text that has the most of the words."""
    if len(words) <= most:
        return words
    return max(text.passages(words, most), key=lambda cut: _shared(cut, asked))


def _shared(words: str, asked: set[str]) -> int:
    return len(asked & set(text.tokens(words)))
