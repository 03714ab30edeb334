"""Reports of fired rules, for people and for the count of each rule. They wait while no server answers."""

from typing import TYPE_CHECKING, Any

from commonplace.client.companion import fault_log
from commonplace.client.link import remote
from commonplace.rules.rule import Rule

if TYPE_CHECKING:
    from commonplace.client.companion.hook_run import HookRun

_MAX_CHARACTERS = 500
_MAX_FILES = 50
PREVENTING = ("deny", "ask")


def report_fired(
    hook_run: "HookRun", rule: Rule, what: str, files: list[str], *, prevents: bool = True
) -> None:
    """Report that a rule fired; where it prevents nothing, once per session."""
    if not prevents and not hook_run.state.is_first_time(f"rule {rule.scope} {rule.name}"):
        return
    report = {
        "kind": "rule_fired" if prevents else "rule_warned",
        "what": f"{rule.name} ({rule.do}): {what}"[:_MAX_CHARACTERS],
        "files": files[:_MAX_FILES],
        "rule": rule.name,
        "rule_scope": rule.scope,
    }
    if not _send(hook_run, report):
        hook_run.state.add_unsent_reports([report])


def send_waiting(hook_run: "HookRun") -> None:
    """Send the reports of this session that no server took."""
    waiting = hook_run.state.take_unsent_reports()
    for index, report in enumerate(waiting):
        if not _send(hook_run, report):
            hook_run.state.add_unsent_reports(waiting[index:])
            return


def _send(hook_run: "HookRun", report: dict[str, Any]) -> bool:
    """Whether the server took it, or will never take it."""
    try:
        hook_run.call_in_session("memory_report_prevented", **report)
    except remote.ServerUnreachable as error:
        fault_log.log_fault("report rule_fired", error)
        return False
    except remote.ServerRefusal as refused:
        fault_log.log_fault("report rule_fired", refused)
    return True
