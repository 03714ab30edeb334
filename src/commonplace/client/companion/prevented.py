"""Report what a hook or the commit guard prevented, so that people can see it. A failed report changes nothing."""

from collections.abc import Iterable

from commonplace.client.companion import fault_log
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.link import remote

_MAX_CHARACTERS = 500
_MAX_NAMES = 50


def report_prevented(
    hook_run: HookRun, kind: str, what: str, files: Iterable[str] = (), others: Iterable[str] = ()
) -> None:
    try:
        hook_run.call_in_session(
            "memory_report_prevented",
            kind=kind,
            what=what[:_MAX_CHARACTERS],
            files=list(dict.fromkeys(files))[:_MAX_NAMES],
            others=list(dict.fromkeys(others))[:_MAX_NAMES],
        )
    except (remote.ServerUnreachable, remote.ServerRefusal) as error:
        fault_log.log_fault(f"report {kind}", error)
