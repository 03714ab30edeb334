"""What is known of a transcript so far: everything that a reader carries from one batch of lines to the next."""

from typing import TypeVar

import msgspec

from commonplace.transcripts.lessons import Lessons

CUSTOM, MADE, LAST_PROMPT, SUMMARY, FIRST_PROMPT = range(5)
_TITLE = 200
_RECENT = 128
_TOOLS = 200

Value = TypeVar("Value")


class Tokens(msgspec.Struct, array_like=True):
    input: int = 0
    output: int = 0
    cached: int = 0


class Facts(msgspec.Struct, array_like=True):
    format: str = ""
    hint: str = ""
    child: bool | None = None
    lines: int = 0
    line: int = 0
    skipped: int = 0
    titles: list[str] = msgspec.field(default_factory=lambda: [""] * 5)
    session: str = ""
    started_at: int | None = None
    ended_at: int | None = None
    cwd: str = ""
    branch: str = ""
    model: str = ""
    tokens: Tokens = msgspec.field(default_factory=Tokens)
    usage: dict[str, Tokens] = msgspec.field(default_factory=dict)
    spoken: dict[str, int] = msgspec.field(default_factory=dict)
    tools: dict[str, int] = msgspec.field(default_factory=dict)
    compactions: int = 0
    seen: dict[str, str] = msgspec.field(default_factory=dict)
    depth: int = 0
    partial: list[bytes] = msgspec.field(default_factory=list)
    partial_size: int = 0
    lessons: Lessons = msgspec.field(default_factory=Lessons)
    turns: dict[str, int] = msgspec.field(default_factory=dict)
    abandoned: list[tuple[int, int]] = msgspec.field(default_factory=list)

    def entitle(self, rank: int, title: str, *, keep: bool = False) -> None:
        """A title of this rank; the later one holds, unless the first is to be kept."""
        words = " ".join(title[: 4 * _TITLE].split())[:_TITLE]
        if words and not (keep and self.titles[rank]):
            self.titles[rank] = words

    def spend(self, message: str, spent: Tokens) -> None:
        """Tokens of one message, which may be told several times: the largest count holds."""
        known = self.usage.get(message, Tokens())
        most = Tokens(*(max(pair) for pair in zip(_counts(spent), _counts(known), strict=True)))
        added = (new - old for new, old in zip(_counts(most), _counts(known), strict=True))
        self.tokens = Tokens(*(sum(pair) for pair in zip(_counts(self.tokens), added, strict=True)))
        remember(self.usage, message, most)

    def use(self, tool: str) -> None:
        if tool in self.tools or len(self.tools) < _TOOLS:
            self.tools[tool] = self.tools.get(tool, 0) + 1

    def speak(self, role: str) -> None:
        self.spoken[role] = self.spoken.get(role, 0) + 1

    def note(self, at: int | None) -> None:
        if at is None:
            return
        self.started_at = at if self.started_at is None else min(at, self.started_at)
        self.ended_at = at if self.ended_at is None else max(at, self.ended_at)

    def mark(self, key: str, value: str = "") -> str | None:
        """Remember a key for a while; what was remembered under it before, if anything."""
        before = self.seen.pop(key, None)
        remember(self.seen, key, value)
        return before

    def turn(self, key: str) -> None:
        """A prompt stands on this line; the key is what a later one names to take its place."""
        remember(self.turns, key, self.line)

    def abandon(self, key: str) -> None:
        """Everything from the prompt of this key up to here was taken back."""
        first = self.turns.pop(key, None)
        if first is not None:
            before = [each for each in self.abandoned if each[0] < first]
            self.abandoned = [*before, (first, self.line)][-_RECENT:]


def remember(known: dict[str, Value], key: str, value: Value) -> None:
    known[key] = value
    if len(known) > _RECENT:
        del known[next(iter(known))]


def _counts(tokens: Tokens) -> tuple[int, int, int]:
    return tokens.input, tokens.output, tokens.cached
