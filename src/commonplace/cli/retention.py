"""`commonplace retention`: delete what is older than the settings allow, or show what would go."""

import argparse
from collections import Counter
from typing import Any

from commonplace.cli import operation_call


def run(arguments: argparse.Namespace) -> int:
    values = {"dry_run": arguments.dry_run}
    rows: Counter[str] = Counter()
    while True:
        report = operation_call.call_operation("memory_run_retention", values, arguments)
        rows.update({kind["kind"]: kind["rows"] for kind in report["kinds"]})
        if report["finished"]:
            break
        print(f"{rows.total():,} rows deleted so far ...", flush=True)
    for kind in report["kinds"]:
        print(f"{kind['kind']:20}{rows[kind['kind']]:>12,}  {_describe_age(kind)}")
    verb = "would be deleted or closed" if arguments.dry_run else "deleted or closed"
    print(f"{rows.total():,} rows {verb}.")
    return 0


def _describe_age(kind: dict[str, Any]) -> str:
    if not kind["days"]:
        return "when their time is over"
    days = "after 1 day" if kind["days"] == 1 else f"after {kind['days']:g} days"
    return f"{days} ({kind['setting']})" if kind.get("setting") else days
