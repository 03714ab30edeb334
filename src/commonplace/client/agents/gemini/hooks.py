"""Gemini CLI's hooks."""

from commonplace.client.hooks import payload
from commonplace.client.hooks.agent_hooks import AgentHooks
from commonplace.client.hooks.hook_event import EventKind, HookAnswer, HookEvent, HookOutput

_EVENTS: dict[str, EventKind] = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "BeforeAgent": "prompt",
    "BeforeTool": "before_edit",
    "AfterTool": "after_edit",
    "AfterAgent": "stop",
    "PreCompress": "before_compact",
}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset({"session_start", "prompt", "after_edit"})
_WARNING_KINDS: frozenset[EventKind] = _CONTEXT_KINDS | {"before_edit", "stop"}

_EDITORS = {"write_file", "replace"}


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    return payload.parse_event(fields, _EVENTS, _EDITORS)


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    body: payload.Fields = {"systemMessage": answer.warning} if answer.warning else {}
    if answer.denial:
        body |= {"decision": "deny", "reason": answer.denial}
    elif answer.context:
        body["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": answer.context}
    return payload.render_json(body)


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "`decision: deny`",
)
