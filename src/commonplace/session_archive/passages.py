"""Group the utterances of a session into passages for the search index: few enough to index, short enough to show."""

from collections.abc import Iterable, Sequence

import msgspec

from commonplace import zstd
from commonplace.search import text
from commonplace.shortening import ELLIPSIS
from commonplace.transcripts.reader import Utterance

MAX_PASSAGE_CHARACTERS = 3000
_INDEXED_ROLES = ("user", "assistant", "summary", "tool", "output")
_TOOL_CALL_CHARACTERS = 120
_UTTERANCE_CHARACTERS = 24_000
_PROMPT_CHARACTERS = 600
_MIN_PROMPT_TOKENS = 3


class PassagePiece(msgspec.Struct, array_like=True, frozen=True):
    line: int
    role: str
    at: int | None
    text: str


class SessionPassage(msgspec.Struct, array_like=True, frozen=True):
    number: int
    pieces: list[PassagePiece]

    @property
    def text(self) -> str:
        return "\n".join(piece.text for piece in self.pieces)

    @property
    def at(self) -> int | None:
        return next((piece.at for piece in self.pieces if piece.at is not None), None)

    @property
    def is_full(self) -> bool:
        return sum(len(piece.text) for piece in self.pieces) >= MAX_PASSAGE_CHARACTERS // 2


def append_utterances(
    last: SessionPassage | None, next_number: int, utterances: Iterable[Utterance]
) -> list[SessionPassage]:
    """The passages of these utterances; the first of them continues `last`, which is not full."""
    number, pieces = (last.number, list(last.pieces)) if last else (next_number, [])
    passages: list[SessionPassage] = []
    size = sum(len(piece.text) for piece in pieces)
    for piece in _split_utterances(utterances):
        if pieces and size + len(piece.text) > MAX_PASSAGE_CHARACTERS:
            passages.append(SessionPassage(number, pieces))
            number, pieces, size = number + 1, [], 0
        pieces.append(piece)
        size += len(piece.text)
    return [*passages, SessionPassage(number, pieces)] if pieces else passages


def list_prompts(utterances: Iterable[Utterance]) -> list[PassagePiece]:
    """The beginnings of what the person asked for: they tell best what a session was about."""
    return [
        PassagePiece(utterance.line, utterance.role, utterance.at, utterance.text[:_PROMPT_CHARACTERS])
        for utterance in utterances
        if utterance.role == "user" and len(text.tokenize(utterance.text)) >= _MIN_PROMPT_TOKENS
    ]


def _split_utterances(utterances: Iterable[Utterance]) -> Iterable[PassagePiece]:
    for utterance in utterances:
        if utterance.role not in _INDEXED_ROLES:
            continue
        words = (
            f"{utterance.tool} {utterance.text}"[:_TOOL_CALL_CHARACTERS]
            if utterance.role == "tool"
            else utterance.text[:_UTTERANCE_CHARACTERS]
        )
        for part in text.split_passages(words, MAX_PASSAGE_CHARACTERS):
            if part:
                yield PassagePiece(utterance.line, utterance.role, utterance.at, part)


def pack_pieces(pieces: Sequence[PassagePiece]) -> bytes:
    return zstd.compress(msgspec.msgpack.encode(pieces), level=3)


def unpack_passage(body: bytes) -> list[PassagePiece]:
    return msgspec.msgpack.decode(zstd.decompress(body), type=list[PassagePiece])


def find_best_piece(pieces: Sequence[PassagePiece], query_tokens: set[str]) -> PassagePiece:
    """The piece with the most query tokens; on a tie, not a tool call."""
    return max(
        pieces, key=lambda piece: (_count_shared_tokens(piece.text, query_tokens), piece.role != "tool")
    )


def find_best_snippet(words: str, query_tokens: set[str], max_characters: int) -> str:
    """The part of a text with the most query tokens; an ellipsis marks where it is cut."""
    if len(words) <= max_characters:
        return words
    parts = text.split_passages(words, max_characters - 2 * len(ELLIPSIS))
    best = max(parts, key=lambda part: _count_shared_tokens(part, query_tokens))
    return f"{'' if best == parts[0] else ELLIPSIS}{best}{'' if best == parts[-1] else ELLIPSIS}"


def _count_shared_tokens(words: str, query_tokens: set[str]) -> int:
    return len(query_tokens & set(text.tokenize(words)))
