"""Show what retention would delete, or delete it now: for `commonplace retention`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from commonplace import retention
from commonplace.access import Caller
from commonplace.call import Call, Calls
from commonplace.clock import DAY
from commonplace.operation import Reply, operation
from commonplace.retention import RetentionRule, RetentionRun

_MAX_RUN_SECONDS = 30.0
"""A call is answered within this time; the caller calls again until nothing is left."""


class SweptKind(Reply):
    kind: str
    rows: int
    """How many went, or would go."""
    days: float
    """How old a row gets; 0 for what has its own end."""
    setting: str = ""


class RetentionReport(Reply):
    kinds: list[SweptKind]
    finished: bool


async def _sweep_or_count(calls: Calls, arguments: Mapping[str, Any], _caller: Caller) -> RetentionReport:
    if arguments["dry_run"]:
        rows, is_finished = await retention.count_due_rows(calls), True
    else:
        run = RetentionRun(calls, _MAX_RUN_SECONDS)
        await run.sweep_all()
        rows, is_finished = run.swept, run.is_finished
    return RetentionReport(
        kinds=[_describe_kind(calls, rule, rows.get(rule.kind, 0)) for rule in calls.catalogue.retention],
        finished=is_finished,
    )


def _describe_kind(calls: Calls, rule: RetentionRule, rows: int) -> SweptKind:
    now = calls.clock()
    age = now - rule.find_time(now, calls.settings)
    return SweptKind(
        kind=rule.kind,
        rows=rows,
        days=round(age / DAY, 1),
        setting=f"COMMONPLACE_{rule.setting.upper()}" if rule.setting else "",
    )


@operation(
    "memory_run_retention",
    role="owner",
    writes=True,
    session=False,
    destroys=True,
    idempotent=True,
    prepare=_sweep_or_count,
    example={"dry_run": True},
)
async def run_retention(
    call: Call, dry_run: Annotated[bool, Field(description="True only counts what would go.")] = False
) -> RetentionReport:
    """Delete what is older than the settings allow; with dry_run, only count it."""
    report: RetentionReport = call.prepared
    call.subject = "dry run" if dry_run else f"{sum(kind.rows for kind in report.kinds)} rows"
    return report
