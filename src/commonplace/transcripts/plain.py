"""Plain lines of role and content, as most other tools write or export them."""

from typing import Any

from commonplace.transcripts import facts as titles
from commonplace.transcripts.event import Event, Parsed, Said, called, response, returned
from commonplace.transcripts.facts import Facts
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.record import Record, inner, moment, nested, records, said, text

_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "model": "assistant", "ai": "assistant"}
_TIMES = ("timestamp", "created_at", "time", "at")


def _is_own_record(record: Record) -> bool:
    return isinstance(record.get("role"), str) and bool(
        record.keys() & {"content", "tool_calls", "text", "parts"}
    )


def _parse_record(record: Record, facts: Facts) -> Parsed | None:
    role = text(record.get("role"))
    content: Any = next((record[name] for name in ("content", "parts", "text") if record.get(name)), None)
    at = next((found for name in _TIMES if (found := moment(record.get(name))) is not None), None)
    facts.model = text(record.get("model"))[:100] or facts.model
    if role in ("tool", "function"):
        return Parsed(at, [returned(record.get("tool_call_id") or record.get("name"), response(content))])
    if role not in _ROLES:
        return Parsed(at, []) if role in ("system", "developer") else None
    return Parsed(at, [*_spoken(_ROLES[role], said(content), facts), *_calls(record, content)])


def _spoken(role: str, words: str, facts: Facts) -> list[Event]:
    if role == "user" and words.strip():
        facts.entitle(titles.FIRST_PROMPT, words, keep=True)
    return [Said(role, words)] if words.strip() else []


def _calls(record: Record, content: Any) -> list[Event]:
    """Calls beside the content (OpenAI) or inside it (Anthropic)."""
    events: list[Event] = [
        called(call.get("id"), nested(call, "function", "name"), inner(nested(call, "function", "arguments")))
        for call in records(record.get("tool_calls"))
    ]
    for block in records(content):
        if block.get("type") == "tool_use":
            events.append(called(block.get("id"), block.get("name"), block.get("input")))
        elif block.get("type") == "tool_result":
            failed = block.get("is_error") is True
            events.append(returned(block.get("tool_use_id"), response(block.get("content")), failed))
    return events


FORMAT = TranscriptFormat("plain", _is_own_record, _parse_record)
