"""Everything that a transcript reader keeps between one batch of lines and the next."""

from typing import TypeVar

import msgspec

from commonplace.journal.model import Journal
from commonplace.transcripts.boot_echo import remove_boot_echo

CUSTOM_TITLE, GENERATED_TITLE, LAST_PROMPT_TITLE, SUMMARY_TITLE, FIRST_PROMPT_TITLE = range(5)
_TITLE_CHARACTERS = 200
_MAX_REMEMBERED_KEYS = 128
_MAX_TOOLS = 200

Value = TypeVar("Value")


class TokenCounts(msgspec.Struct, array_like=True):
    """`cost` is in millionths of a dollar, and 0 where the program does not write down what a message cost."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: int = 0

    def __add__(self, other: "TokenCounts") -> "TokenCounts":
        return TokenCounts(*(sum(pair) for pair in zip(_token_tuple(self), _token_tuple(other), strict=True)))

    def __sub__(self, other: "TokenCounts") -> "TokenCounts":
        return TokenCounts(*(a - b for a, b in zip(_token_tuple(self), _token_tuple(other), strict=True)))


class TranscriptState(msgspec.Struct, array_like=True):
    format: str = ""
    tool_hint: str = ""
    is_child: bool | None = None
    lines: int = 0
    current_line: int = 0
    skipped_lines: int = 0
    titles: list[str] = msgspec.field(default_factory=lambda: [""] * 5)
    session: str = ""
    started_at: int | None = None
    ended_at: int | None = None
    cwd: str = ""
    branch: str = ""
    model: str = ""
    tokens: TokenCounts = msgspec.field(default_factory=TokenCounts)
    usage: dict[str, TokenCounts] = msgspec.field(default_factory=dict)
    messages_by_role: dict[str, int] = msgspec.field(default_factory=dict)
    tools: dict[str, int] = msgspec.field(default_factory=dict)
    compactions: int = 0
    seen_keys: dict[str, str] = msgspec.field(default_factory=dict)
    depth: int = 0
    document_list: bool = False
    partial: list[bytes] = msgspec.field(default_factory=list)
    partial_size: int = 0
    journal: Journal = msgspec.field(default_factory=Journal)
    prompt_lines: dict[str, int] = msgspec.field(default_factory=dict)
    abandoned_spans: list[tuple[int, int]] = msgspec.field(default_factory=list)
    last_prompt: str = ""

    def set_title(self, rank: int, title: str, *, keep: bool = False) -> None:
        """Set the title of this rank; with `keep`, the first title of a rank stays."""
        words = " ".join(remove_boot_echo(title)[: 4 * _TITLE_CHARACTERS].split())[:_TITLE_CHARACTERS]
        if words and not (keep and self.titles[rank]):
            self.titles[rank] = words

    def add_tokens(self, message: str, reported: TokenCounts) -> None:
        """Count the tokens of one message, which may be reported several times: the largest report counts."""
        counted = self.usage.get(message, TokenCounts())
        largest = TokenCounts(
            *(max(pair) for pair in zip(_token_tuple(reported), _token_tuple(counted), strict=True))
        )
        self.tokens += largest - counted
        remember_recent(self.usage, message, largest)

    def count_tool(self, tool: str) -> None:
        if tool in self.tools or len(self.tools) < _MAX_TOOLS:
            self.tools[tool] = self.tools.get(tool, 0) + 1

    def count_message(self, role: str) -> None:
        self.messages_by_role[role] = self.messages_by_role.get(role, 0) + 1

    def extend_time_span(self, at: int | None) -> None:
        if at is None:
            return
        self.started_at = at if self.started_at is None else min(at, self.started_at)
        self.ended_at = at if self.ended_at is None else max(at, self.ended_at)

    def remember_key(self, key: str, value: str = "") -> str | None:
        """Remember a key for a while; return the value it had before, if any."""
        before = self.seen_keys.pop(key, None)
        remember_recent(self.seen_keys, key, value)
        return before

    def record_prompt(self, key: str) -> None:
        """The current line is a prompt; a later line can replace it by this key."""
        remember_recent(self.prompt_lines, key, self.current_line)

    def abandon_since_prompt(self, key: str) -> None:
        """Mark everything from the prompt with this key up to the current line as abandoned."""
        first = self.prompt_lines.pop(key, None)
        if first is not None:
            before = [span for span in self.abandoned_spans if span[0] < first]
            self.abandoned_spans = [*before, (first, self.current_line)][-_MAX_REMEMBERED_KEYS:]


def remember_recent(recent: dict[str, Value], key: str, value: Value) -> None:
    recent[key] = value
    if len(recent) > _MAX_REMEMBERED_KEYS:
        del recent[next(iter(recent))]


def _token_tuple(tokens: TokenCounts) -> tuple[int, int, int, int]:
    return tokens.input, tokens.output, tokens.cached, tokens.cost
