"""Windsurf (Cascade). It takes no context, and is denied an edit by the exit code alone."""

from pathlib import Path

from commonplace.client.hooks import shape
from commonplace.client.hooks.event import Answer, Event, Kind, Output

KINDS: dict[str, Kind] = {
    "pre_write_code": "before_edit",
    "post_write_code": "after_edit",
    "pre_user_prompt": "prompt",
    "post_cascade_response": "stop",
    "post_cascade_response_with_transcript": "stop",
}
HEARS: frozenset[str] = frozenset()
WARNS = frozenset(KINDS.values())

_DENIED = 2


def read(given: shape.Fields) -> Event | None:
    name = shape.text(given, "agent_action_name")
    kind, told = KINDS.get(name), shape.fields(given.get("tool_info"))
    files = shape.named_files({"file_path": told.get("file_path")})
    if kind is None or (kind in ("before_edit", "after_edit") and not files):
        return None
    return Event(
        kind,
        name,
        shape.text(given, "trajectory_id"),
        shape.text(told, "cwd") or str(Path.cwd()),
        files,
        shape.text(told, "user_prompt"),
        shape.text(told, "transcript_path"),
    )


def write(event: Event, answer: Answer) -> Output:
    del event
    if answer.denial:
        return Output(stderr=answer.denial, code=_DENIED)
    return Output(stderr=answer.warning)
