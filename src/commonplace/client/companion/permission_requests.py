"""The event PermissionRequest of Claude Code and Codex as a request to a person, and the person's answer as its decision.

Claude Code asks questions and shows plans through tools, so they arrive as permission requests of those tools.
"""

import json
from typing import Any, Literal

from commonplace.client.companion import payload
from commonplace.client.companion.hook_event import HookAnswer, HookEvent, WaitingRequest

PERMISSION_EVENT = "PermissionRequest"
_QUESTION_TOOL = "AskUserQuestion"
_PLAN_TOOL = "ExitPlanMode"
_OWN_TEXT_FIELDS = ("command", "file_path", "url", "path", "pattern", "query")
_MAX_QUESTIONS, _MAX_OPTIONS = 10, 12
_MAX_QUESTION_CHARACTERS, _MAX_LABEL_CHARACTERS, _MAX_DESCRIPTION_CHARACTERS = 4_000, 500, 1_000


def parse_permission_request(
    fields: payload.Fields, answered: Literal["beside", "before", "never"]
) -> HookEvent | None:
    if payload.first_text(fields, "hook_event_name") != PERMISSION_EVENT:
        return None
    event = payload.parse_event(fields, {PERMISSION_EVENT: "waiting"}, ())
    tool, tool_input = payload.first_text(fields, "tool_name"), payload.parse_object(fields.get("tool_input"))
    return event._replace(request=describe_tool_call(tool, tool_input, answered)) if event else None


def describe_tool_call(
    tool: str, tool_input: dict[str, Any], answered: Literal["beside", "before", "never"]
) -> WaitingRequest:
    if tool == _QUESTION_TOOL and (questions := parse_questions(tool_input.get("questions"))):
        return WaitingRequest("question", tool, "", questions, answered, tool_input=tool_input)
    if tool == _PLAN_TOOL:
        plan = payload.first_text(tool_input, "plan")
        return WaitingRequest("plan", tool, plan, (), answered)
    return WaitingRequest("permission", tool, format_tool_input(tool_input), (), answered)


def format_tool_input(tool_input: dict[str, Any]) -> str:
    """The command or path as it is; anything else as JSON, so that nothing is hidden from who decides."""
    own = [name for name in _OWN_TEXT_FIELDS if isinstance(tool_input.get(name), str)]
    rest = {name: value for name, value in tool_input.items() if name not in own}
    lines = [str(tool_input[name]) for name in own]
    description = rest.pop("description", None)
    if isinstance(description, str) and description:
        lines.append(f"({description})")
    if rest:
        lines.append(json.dumps(rest, ensure_ascii=False, indent=1))
    return "\n".join(lines)


def parse_questions(given: Any) -> tuple[dict[str, Any], ...]:
    """The questions of a dialog as memory_report_request takes them; empty if there is something that it cannot take."""
    questions = []
    for item in given if isinstance(given, list) else ():
        text = payload.first_text(payload.parse_object(item), "question")
        if not text or len(text) > _MAX_QUESTION_CHARACTERS:
            return ()
        options = [_parse_option(option) for option in payload.parse_object(item).get("options") or ()]
        is_multiple = bool(item.get("multiSelect") or item.get("multiple"))
        questions.append({"question": text, "options": options[:_MAX_OPTIONS], "multiple": is_multiple})
    return tuple(questions) if len(questions) <= _MAX_QUESTIONS else ()


def _parse_option(option: Any) -> dict[str, str]:
    label = option if isinstance(option, str) else payload.first_text(payload.parse_object(option), "label")
    description = payload.first_text(payload.parse_object(option), "description")
    return {
        "label": label[:_MAX_LABEL_CHARACTERS] or "-",
        "description": description[:_MAX_DESCRIPTION_CHARACTERS],
    }


def render_permission_decision(event: HookEvent, answer: HookAnswer) -> payload.Fields:
    """Claude's format; empty without an answer, so that its own dialog decides."""
    verdict, request = answer.verdict, event.request
    if verdict is None or request is None:
        return {}
    if verdict["decision"] == "deny":
        decision: payload.Fields = {"behavior": "deny", "message": format_denial(verdict)}
    else:
        decision = {"behavior": "allow"}
        if request.questions:
            asked = [str(question["question"]) for question in request.questions]
            answers = dict(zip(asked, verdict.get("answers", []), strict=False))
            decision["updatedInput"] = {**(request.tool_input or {}), "answers": answers}
    return {"hookSpecificOutput": {"hookEventName": event.name, "decision": decision}}


def format_denial(verdict: dict[str, Any]) -> str:
    person = verdict.get("answered_by") or "A person"
    note = verdict.get("note", "")
    return f"{person} denied this: {note}" if note else f"{person} denied this."
