"""Codex's hooks: Claude Code's events, and answers without unknown fields."""

from commonplace.client.agents.claude import hooks as claude
from commonplace.client.companion import payload
from commonplace.client.companion.hook_event import AgentHooks, HookAnswer, HookEvent, HookOutput
from commonplace.client.companion.permission_requests import (
    parse_permission_request,
    render_permission_decision,
)

_CONTEXT_KINDS = claude.HOOKS.context_kinds
_WARNING_KINDS = _CONTEXT_KINDS

_EDITORS = {"apply_patch", "Write", "Edit"}
_SHELLS = {"Bash"}


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    """The dialog of a permission opens only after the hook."""
    return (
        parse_permission_request(fields, "before")
        or _parse_subagent_start(fields)
        or payload.parse_event(fields, claude.HOOKS.events, _EDITORS, _SHELLS)
    )


def _parse_subagent_start(fields: payload.Fields) -> HookEvent | None:
    """A sub-agent starts a session. Other calls of our tools name their thread themselves."""
    event = claude.parse_own_call(fields)
    return event._replace(call_id="") if event and event.subagent else None


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    if event.kind == "waiting":
        return payload.render_json(render_permission_decision(event, answer))
    if event.kind == "stop" and answer.denial:
        return payload.render_json(payload.render_blocked_stop(answer))
    body = payload.render_specific_output(event, answer)
    if "updatedInput" in body.get("hookSpecificOutput", {}):
        body["hookSpecificOutput"]["permissionDecision"] = "allow"  # without it Codex ignores the input
    return payload.render_json(body)


HOOKS = AgentHooks(
    claude.HOOKS.events,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "`permissionDecision: deny`",
    subagents_have_conversations=True,
)
