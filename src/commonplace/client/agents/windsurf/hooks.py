"""Windsurf's hooks (Cascade)."""

from commonplace.client.companion import payload
from commonplace.client.companion.caller import current_folder
from commonplace.client.companion.hook_event import AgentHooks, EventKind, HookAnswer, HookEvent, HookOutput

_EVENTS: dict[str, EventKind] = {
    "pre_write_code": "before_edit",
    "post_write_code": "after_edit",
    "pre_run_command": "before_shell",
    "pre_user_prompt": "prompt",
    "post_cascade_response": "stop",
    "post_cascade_response_with_transcript": "stop",
}
_CONTEXT_KINDS: frozenset[EventKind] = frozenset()
_WARNING_KINDS = frozenset(_EVENTS.values())

_DENIED_EXIT_CODE = 2


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    name = payload.first_text(fields, "agent_action_name")
    kind, tool_info = _EVENTS.get(name), payload.parse_object(fields.get("tool_info"))
    files = payload.find_path_arguments({"file_path": tool_info.get("file_path")})
    command = payload.first_text(tool_info, "command_line")
    if (
        kind is None
        or (kind in ("before_edit", "after_edit") and not files)
        or (kind == "before_shell" and not command)
    ):
        return None
    return HookEvent(
        kind,
        name,
        payload.first_text(fields, "trajectory_id"),
        payload.first_text(tool_info, "cwd") or current_folder(),
        files,
        payload.first_text(tool_info, "user_prompt"),
        payload.first_text(tool_info, "transcript_path"),
        arguments=tool_info if files else None,
        command=command,
        tool=name,
    )


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    del event
    if answer.denial:
        return HookOutput(stderr=answer.denial, code=_DENIED_EXIT_CODE)
    return HookOutput(stderr=answer.warning)


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "exit code 2",
    denying_kinds=frozenset({"before_edit", "before_shell"}),
)
