"""VS Code's hooks: Claude Code's format with other tool names. Copilot CLI runs them too."""

import os
from pathlib import Path

from commonplace.client.agents.claude import hooks as claude
from commonplace.client.companion import payload
from commonplace.client.companion.hook_event import AgentHooks, EventKind, HookAnswer, HookEvent, HookOutput

# Earlier versions spelled the same events with a small letter.
_EVENTS: dict[str, EventKind] = {**claude.HOOKS.events} | {
    name[0].lower() + name[1:]: kind for name, kind in claude.HOOKS.events.items()
}
_CONTEXT_KINDS = claude.HOOKS.context_kinds
_WARNING_KINDS = claude.HOOKS.warning_kinds

_EDITORS = {
    *claude.EDITORS,
    "apply_patch",
    "create",
    "create_file",
    "createFile",
    "edit",
    "edit_notebook_file",
    "editFiles",
    "insert_edit_into_file",
    "multi_replace_string_in_file",
    "replace_string_in_file",
    "str_replace_editor",
}


_SHELLS = {*claude.SHELLS, "bash", "run_in_terminal", "runInTerminal"}


def _parse_event(fields: payload.Fields) -> HookEvent | None:
    return payload.parse_event(fields, _EVENTS, _EDITORS, _SHELLS)


def _render_answer(event: HookEvent, answer: HookAnswer) -> HookOutput:
    output = claude.HOOKS.render_answer(event, answer)
    if event.kind != "stop" or not answer.denial:
        return output
    blocked = payload.render_blocked_stop(answer)
    return payload.render_json(blocked | {"hookSpecificOutput": {"hookEventName": event.name, **blocked}})


def _identify_agent(_fields: payload.Fields) -> str:
    """Copilot CLI runs VS Code's hooks too. Its own hooks have precedence if they are installed."""
    folder = Path(os.environ.get("COPILOT_HOME") or "~/.copilot").expanduser() / "hooks"
    if os.environ.get("COPILOT_CLI") and (folder / "commonplace-copilot.json").exists():
        return ""
    return "vscode"


HOOKS = AgentHooks(
    _EVENTS,
    _CONTEXT_KINDS,
    _WARNING_KINDS,
    _parse_event,
    _render_answer,
    "`permissionDecision: deny`",
    _identify_agent,
    asking_kinds=claude.ASKING_KINDS,
)
