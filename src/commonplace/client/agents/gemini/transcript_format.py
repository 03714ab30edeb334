"""Gemini CLI chats: a message a line, told again when it changes; before April 2026 one document for the whole chat."""

import re
from typing import Any

from commonplace.client.agents import AGENTS
from commonplace.transcripts import facts as titles
from commonplace.transcripts.event import Event, Parsed, Returned, Said, called, response, returned
from commonplace.transcripts.facts import Facts, Tokens
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.record import Record, decoded, moment, nested, records, said, text, whole

_ROLES = {"user": "user", "gemini": "assistant", "info": "", "error": "system", "warning": ""}
# It reaches the closing quote or the end of the line, so no character is looked at twice.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
# How a command is reported to the model: forks and older versions say more of it.
_REPORT = re.compile(r"\A(?:Command: (?s:.*?)\nDirectory: [^\n]*\n)?(?:Output|Stdout): ")
_TRAILER = re.compile(r"(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]{0,400}){1,4}\Z")
_LONGEST_TRAILER = 2_000
_CODE = re.compile(r"^Exit Code: (-?\d{1,5}|\(none\))$", re.MULTILINE)
_SIGNAL = re.compile(r"^Signal: (?!\(none\))", re.MULTILINE)
_NO_ERROR = "\nError: (none)"
_STDERR = "\nStderr: "
_EMPTY = "(empty)"
_PARTIAL = 256_000
_MESSAGE_DEPTH = 2


def _is_own_record(record: Record) -> bool:
    if "$set" in record or "$rewindTo" in record or "projectHash" in record:
        return True
    return record.get("type") in _ROLES and "content" in record and "id" in record and "message" not in record


def _parse_record(record: Record, facts: Facts) -> Parsed | None:
    if "$rewindTo" in record:
        facts.abandon(text(record.get("$rewindTo"))[:64])
        return Parsed(None, [])
    if isinstance(update := record.get("$set"), dict):
        _note(update, facts)
        return Parsed(moment(update.get("lastUpdated")), _messages(update.get("messages"), facts))
    if "projectHash" in record or "sessionId" in record:
        _note(record, facts)
        return Parsed(moment(record.get("startTime")), _messages(record.get("messages"), facts))
    if record.get("type") not in _ROLES:
        return None
    identity = text(record.get("id"))[:64]
    if record.get("type") == "user" and identity and identity not in facts.turns:
        facts.turn(identity)
    return Parsed(moment(record.get("timestamp")), _message(record, facts))


def _note(record: Record, facts: Facts) -> None:
    facts.session = facts.session or text(record.get("sessionId"))[:200]
    facts.entitle(titles.SUMMARY, text(record.get("summary")))
    if record.get("kind") == "subagent":
        facts.child = True
    facts.note(moment(record.get("startTime")))
    facts.note(moment(record.get("lastUpdated")))


def _messages(messages: Any, facts: Facts) -> list[Event]:
    """A checkpoint, or an old document, holds all messages at once."""
    events: list[Event] = []
    for message in records(messages):
        at = moment(message.get("timestamp"))
        facts.note(at)
        events += [event._replace(at=at) for event in _message(message, facts)]
    return events


def _message(message: Record, facts: Facts) -> list[Event]:
    role = _ROLES.get(text(message.get("type")), "")
    identity = text(message.get("id"))[:64]
    words = said(message.get("content")).strip()
    events: list[Event] = []
    if role and words and facts.mark(f"m {identity}", str(len(words))) != str(len(words)):
        events.append(Said(role, words))
        if role == "user":
            facts.entitle(titles.FIRST_PROMPT, words, keep=True)
    facts.model = text(message.get("model"))[:100] or facts.model
    if isinstance(tokens := message.get("tokens"), dict):
        cached = whole(tokens.get("cached"))
        given = max(0, whole(tokens.get("input")) - cached)
        facts.spend(identity, Tokens(given, whole(tokens.get("output")), cached))
    for call in records(message.get("toolCalls")):
        events += _call(call, facts)
    return events


def _call(call: Record, facts: Facts) -> list[Event]:
    """A call is told again when it ends; each half of it counts once, and one that was cancelled has no end."""
    identity, status = text(call.get("id"))[:64], text(call.get("status"))
    ended = status in ("success", "error", "cancelled")
    before = facts.mark(f"c {identity}", "ended" if ended else "begun")
    events: list[Event] = []
    if before is None:
        events.append(called(identity, call.get("name"), call.get("args")))
    if ended and before != "ended" and status != "cancelled":
        output = response(call.get("result")) or response(call.get("resultDisplay"))
        report = _REPORT.match(output) if nested(call, "args", "command") else None
        result = _reported(identity, output, report.end()) if report else returned(identity, output)
        events.append(result._replace(failed=result.failed or status == "error"))
    return events


def _reported(identity: str, output: str, start: int) -> Returned:
    """A command by what it printed; without an exit code and without a signal it ended well."""
    found = _TRAILER.search(output, max(start, len(output) - _LONGEST_TRAILER))
    trailer = found[0] if found else ""
    stdout, _, stderr = output[start : len(output) - len(trailer)].removesuffix(_NO_ERROR).partition(_STDERR)
    printed = "\n".join(part for part in (stdout, stderr) if part.strip() not in ("", _EMPTY))
    killed, code = bool(_SIGNAL.search(trailer)), _CODE.search(trailer)
    if code is None:
        return Returned(identity, printed, killed, None if killed else 0)
    number = None if code[1] == "(none)" else int(code[1])
    return Returned(identity, printed, killed or bool(number), number)


def _parse_document_line(line: bytes, facts: Facts) -> Parsed | None:
    """A line of a document that was written over many lines: its messages are put together again, one by one."""
    bare = _STRING.sub(b"", line)
    depth = facts.depth + bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
    inside = facts.depth > _MESSAGE_DEPTH or depth > _MESSAGE_DEPTH
    before, facts.depth = facts.depth, max(0, depth)
    if inside:
        return _part(line, facts)
    if before == 1 and depth == 1:
        return _field(line, facts)
    return Parsed(None, [])


def _part(line: bytes, facts: Facts) -> Parsed | None:
    facts.partial_size += len(line)
    if facts.partial_size <= _PARTIAL:
        facts.partial.append(line)
    else:
        facts.partial.clear()
    if facts.depth > _MESSAGE_DEPTH:
        return Parsed(None, [])
    message = decoded(b"\n".join(facts.partial).strip().rstrip(b","))
    facts.partial, facts.partial_size = [], 0
    if message is None:
        return None
    return Parsed(moment(message.get("timestamp")), _message(message, facts))


def _field(line: bytes, facts: Facts) -> Parsed | None:
    field = decoded(b"{" + line.strip().rstrip(b",") + b"}")
    if field is None:
        return None
    _note(field, facts)
    return Parsed(None, [])


FORMAT = TranscriptFormat(
    AGENTS["gemini"].transcript_tool, _is_own_record, _parse_record, _parse_document_line
)
