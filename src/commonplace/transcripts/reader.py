"""Reads a transcript batch by batch, and says at any time what is known of it."""

import zlib
from codecs import BOM_UTF8
from collections.abc import Sequence

import msgspec

from commonplace.client.agents import load_transcript_formats
from commonplace.transcripts import plain
from commonplace.transcripts.event import Called, Event, Parsed, Said
from commonplace.transcripts.facts import Facts
from commonplace.transcripts.lessons import Command, Commit, File, Problem
from commonplace.transcripts.record import decoded

VERSION = 2
"""Of the parsers: a state of another version is worth nothing, and its transcript is read again."""

_FORMATS = {parser.name: parser for parser in (*load_transcript_formats(), plain.FORMAT)}
_DOCUMENT = "-document"
_PARSE_DOCUMENT_LINE = {
    parser.name + _DOCUMENT: parser.parse_document_line
    for parser in _FORMATS.values()
    if parser.parse_document_line
}
_SHOWN = 300
_LARGEST_STATE = 8_000_000


class Outdated(ValueError):  # noqa: N818 - no fault, but news
    """The state was made by another version of the parsers."""


class Utterance(msgspec.Struct, frozen=True):
    """`role` is user, assistant, summary (what a compaction kept), tool (a call), error (what a tool failed with) or
    system. What was taken back later is `abandoned`, as a reader over a whole transcript knows."""

    line: int
    role: str
    text: str
    at: int | None = None
    tool: str = ""
    abandoned: bool = False


class Summary(msgspec.Struct, frozen=True):
    format: str
    title: str
    session: str
    started_at: int | None
    ended_at: int | None
    cwd: str
    branch: str
    model: str
    lines: int
    skipped: int
    user_messages: int
    assistant_messages: int
    tool_calls: int
    tools: dict[str, int]
    compactions: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    is_child: bool
    files: list[File]
    commands: list[Command]
    errors: list[Problem]
    commits: list[Commit]


class Reader:
    """`tool` is a hint of whose transcript it is; what the lines say decides."""

    def __init__(self, state: bytes = b"", tool: str = "") -> None:
        self._facts = _loaded(state) if state else Facts(hint=tool[:100])
        self._abandoned: Sequence[tuple[int, int]] = ()

    @classmethod
    def over(cls, state: bytes) -> "Reader":
        """A reader for any page of a transcript that was read before: it knows whose it is and what was taken back."""
        known = _loaded(state)
        reader = cls(tool=known.hint)
        reader._facts.format, reader._facts.child = known.format, known.child
        reader._abandoned = known.abandoned
        return reader

    @property
    def is_paged(self) -> bool:
        """Can any page of it be read by itself? Not where one document stands on many lines."""
        return self._facts.format not in _PARSE_DOCUMENT_LINE

    def read(self, first_line: int, lines: Sequence[bytes]) -> list[Utterance]:
        found: list[Utterance] = []
        for number, line in enumerate(lines, first_line):
            self._facts.line = number
            if not line.strip():
                self._facts.lines += 1
                continue
            parsed = self._parsed(line if number else line.removeprefix(BOM_UTF8))
            self._facts.lines += 1
            if parsed is None:
                self._facts.skipped += 1
                continue
            self._facts.note(parsed.at)
            for event in parsed.events:
                utterance = self._taken(number, parsed, event)
                if utterance is not None and not parsed.aside:
                    found.append(self._marked(utterance))
        return found

    def state(self) -> bytes:
        return bytes([VERSION]) + zlib.compress(msgspec.msgpack.encode(self._facts), 1)

    def problems(self) -> tuple[list[Problem], list[str]]:
        """The errors that were met or settled since the last time, and the fingerprints of those forgotten."""
        lessons = self._facts.lessons
        changed, lessons.changed = lessons.changed, {}
        kept = [lessons.problems[each] for each in changed if each in lessons.problems]
        return kept, [each for each in changed if each not in lessons.problems]

    def summary(self) -> Summary:
        facts, lessons = self._facts, self._facts.lessons
        return Summary(
            facts.format.removesuffix(_DOCUMENT),
            next((title for title in facts.titles if title), ""),
            facts.session,
            facts.started_at,
            facts.ended_at,
            facts.cwd,
            facts.branch,
            facts.model,
            facts.lines,
            facts.skipped,
            facts.spoken.get("user", 0),
            facts.spoken.get("assistant", 0),
            facts.spoken.get("tool", 0),
            dict(sorted(facts.tools.items(), key=lambda pair: (-pair[1], pair[0]))),
            facts.compactions,
            facts.tokens.input,
            facts.tokens.output,
            facts.tokens.cached,
            bool(facts.child),
            sorted(lessons.files.values(), key=lambda each: (-each.edits, -each.reads, each.path)),
            sorted(lessons.commands.values(), key=lambda each: (-each.failures, -each.runs, each.line)),
            sorted(lessons.problems.values(), key=lambda each: (not each.fixed_line, -each.times, each.line)),
            list(lessons.commits.values()),
        )

    def _parsed(self, line: bytes) -> Parsed | None:
        facts = self._facts
        if parse_document_line := _PARSE_DOCUMENT_LINE.get(facts.format):
            return parse_document_line(line, facts)
        if facts.lines == 0 and line.strip() == b"{":
            facts.format, facts.depth = next(iter(_PARSE_DOCUMENT_LINE)), 1
            return Parsed(None, [])
        record = decoded(line)
        if record is None or not all(isinstance(record.get(name, ""), str) for name in ("type", "role")):
            return None
        if not facts.format:
            own = _ordered(facts.hint)
            facts.format = next((name for name in own if _FORMATS[name].is_own_record(record)), "")
        if not facts.format:
            return None
        return _FORMATS[facts.format].parse_record(record, facts)

    def _marked(self, utterance: Utterance) -> Utterance:
        if any(first <= utterance.line < end for first, end in self._abandoned):
            return msgspec.structs.replace(utterance, abandoned=True)
        return utterance

    def _taken(self, line: int, parsed: Parsed, event: Event) -> Utterance | None:
        facts, at = self._facts, event.at or parsed.at
        if isinstance(event, Said):
            if not event.text.strip():
                return None
            if not parsed.aside:
                facts.speak(event.role)
            return Utterance(line, event.role, event.text, at)
        if isinstance(event, Called):
            facts.speak("tool")
            facts.use(event.tool)
            facts.lessons.call(event)
            return Utterance(line, "tool", event.text, at, event.tool)
        tool, faults = facts.lessons.result(event, line, at)
        if not faults:
            return None
        return Utterance(line, "error", "\n".join(each.text for each in faults)[:_SHOWN], at, tool)


def is_current(state: bytes) -> bool:
    return state[:1] == bytes([VERSION])


def _loaded(state: bytes) -> Facts:
    if not is_current(state):
        raise Outdated
    unpacked = zlib.decompressobj().decompress(state[1:], _LARGEST_STATE)
    return msgspec.msgpack.decode(unpacked, type=Facts)


def _ordered(hint: str) -> list[str]:
    """The hinted format is tried first: a line may look like two."""
    named = next((name for name in _FORMATS if hint and hint.split("-", maxsplit=1)[0] in name), "")
    return sorted(_FORMATS, key=lambda name: name != named)
