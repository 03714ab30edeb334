"""opencode's hooks, as the plugin that `commonplace install` writes sends them (`plugin.js`)."""

from commonplace.client.companion import payload
from commonplace.client.companion.hook_event import (
    AgentHooks,
    EventKind,
    HookAnswer,
    HookEvent,
    HookOutput,
    WaitingRequest,
)
from commonplace.client.companion.permission_requests import format_denial, format_tool_input, parse_questions

_EVENTS: dict[str, EventKind] = {
    "session.created": "session_start",
    "session.compacted": "session_start",
    "session.deleted": "session_end",
    "session.idle": "stop",
    "chat.message": "prompt",
    "tool.execute.before": "before_edit",
    "tool.execute.after": "after_edit",
    "experimental.session.compacting": "before_compact",
    "permission.asked": "waiting",
    "permission.replied": "waiting_over",
    "question.asked": "waiting",
    "question.replied": "waiting_over",
    "question.rejected": "waiting_over",
}
# A sub-agent is a session of its own, which ends when it has nothing more to do.
_SUBAGENT_KINDS: dict[str, EventKind] = {
    "session.created": "subagent_start",
    "session.idle": "subagent_end",
    "session.deleted": "subagent_end",
}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset({"session_start", "prompt", "after_edit", "after_shell"})
_WARNING_KINDS = _CONTEXT_KINDS

_OWN_TOOLS = "commonplace_"
_EDITORS = {"write", "edit", "multiedit", "patch", "apply_patch"}
_SHELLS = {"bash"}


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    tool = payload.first_text(fields, "tool_name")
    is_before = payload.first_text(fields, "hook_event_name") == "tool.execute.before"
    if is_before and tool.startswith(_OWN_TOOLS):
        return payload.parse_own_call(fields, tool.removeprefix(_OWN_TOOLS))
    event = payload.parse_event(fields, _EVENTS, _EDITORS, _SHELLS)
    if event and event.kind == "waiting":
        return event._replace(request=_describe_dialog(payload.parse_object(fields.get("asked"))))
    if event is None or not event.subagent:
        return event
    return event._replace(kind=_SUBAGENT_KINDS.get(event.name, event.kind))


def _describe_dialog(asked: payload.Fields) -> WaitingRequest:
    """The plugin can answer at any time while the dialog is open."""
    if questions := parse_questions(asked.get("questions")):
        return WaitingRequest("question", "question", "", questions, "beside")
    text = format_tool_input(payload.parse_object(asked.get("metadata")))
    return WaitingRequest("permission", payload.first_text(asked, "permission"), text, (), "beside")


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    del event
    fields = {"context": answer.context, "denied": answer.denial, "warning": answer.warning}
    texts = {name: text for name, text in fields.items() if text}
    more = {"arguments": answer.arguments, "reports_end": answer.reports_end}
    body: payload.Fields = texts | {name: value for name, value in more.items() if value}
    if answer.verdict:
        body["verdict"] = {
            "decision": answer.verdict["decision"],
            "answers": answer.verdict.get("answers", []),
            "message": format_denial(answer.verdict),
        }
    return payload.render_json(body)


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "an error that the plugin throws",
    subagents_have_conversations=True,
    keeps_transcripts_by_session=True,
    process_variable="OPENCODE_PID",
)
