"""opencode's hooks, as the plugin that `commonplace install` writes sends them (`plugin.js`)."""

from commonplace.client.hooks import payload
from commonplace.client.hooks.agent_hooks import AgentHooks
from commonplace.client.hooks.hook_event import EventKind, HookAnswer, HookEvent, HookOutput

_EVENTS: dict[str, EventKind] = {
    "session.created": "session_start",
    "session.compacted": "session_start",
    "session.deleted": "session_end",
    "session.idle": "stop",
    "chat.message": "prompt",
    "tool.execute.before": "before_edit",
    "tool.execute.after": "after_edit",
    "experimental.session.compacting": "before_compact",
}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset({"session_start", "prompt", "after_edit"})
_WARNING_KINDS = _CONTEXT_KINDS

_EDITORS = {"write", "edit", "multiedit", "patch", "apply_patch"}


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    return payload.parse_event(fields, _EVENTS, _EDITORS)


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    del event
    fields = {"context": answer.context, "denied": answer.denial, "warning": answer.warning}
    return payload.render_json({name: text for name, text in fields.items() if text})


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "an error that the plugin throws",
    process_variable="OPENCODE_PID",
)
