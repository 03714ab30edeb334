"""Where a hook asks the rules: before its own action, and again if other rules arrived with a reply meanwhile.

This runs beside every edit and command, so what decides (`rule_answer.py`) is imported only where there are rules.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from commonplace.client.companion.hook_event import AgentHooks, EventKind, HookAnswer
from commonplace.client.link import remote
from commonplace.client.rules import rule_reports

if TYPE_CHECKING:
    from commonplace.client.companion.hook_run import HookRun

_OCCASIONS: dict[EventKind, str] = {
    "before_edit": "edit",
    "before_shell": "command",
    "prompt": "prompt",
    "stop": "stop",
}
_NOT_A_STOP = ("ompact", "ubagent")
_REFRESH_SECONDS = 300
"""A session that makes no other call asks for the rules this often."""

Act = Callable[["HookRun"], HookAnswer]


def answer_with_rules(hook_run: "HookRun", hooks: AgentHooks, act: Act) -> HookAnswer:
    """The answer of a rule that prevents, else that of the hook's own action. Rules that arrive with it count at once."""
    on = _OCCASIONS.get(hook_run.event.kind, "")
    if not on or any(part in hook_run.event.name for part in _NOT_A_STOP):
        if hook_run.event.kind == "session_end":
            rule_reports.send_waiting(hook_run)
        return act(hook_run)
    _refresh_if_due(hook_run, hooks)
    version = hook_run.rules.version
    answer = _check_rules(hook_run, hooks, on)
    if answer.denial:
        return answer
    own_answer = act(hook_run)
    if hook_run.rules.version != version and not own_answer.denial:
        answer = _check_rules(hook_run, hooks, on)
        if answer.denial:
            return answer
    if hook_run.has_answered:
        rule_reports.send_waiting(hook_run)
    warning = own_answer.warning or answer.warning
    return own_answer._replace(warning=warning, reports_end=own_answer.reports_end or answer.reports_end)


def _check_rules(hook_run: "HookRun", hooks: AgentHooks, on: str) -> HookAnswer:
    if not hook_run.rules.load():
        return HookAnswer()
    from commonplace.client.rules.rule_answer import check_rules  # see above

    return check_rules(hook_run, hooks, on)


def _refresh_if_due(hook_run: "HookRun", hooks: AgentHooks) -> None:
    """Ask for the rules if nothing has confirmed them lately; a session that is yet to start gets them with its start."""
    hook_run.rules.load()
    is_due = hook_run.rules.age_seconds() > _REFRESH_SECONDS
    if is_due and (hook_run.state.load_session() or "session_start" not in hooks.events.values()):
        ask_server(hook_run)


def ask_server(hook_run: "HookRun") -> bool:
    """Whether the server answers; its reply brings the rules if they have changed."""
    try:
        hook_run.call_in_session("memory_heartbeat")
    except remote.ServerUnreachable:
        return False
    except remote.ServerRefusal:
        return True
    return True
