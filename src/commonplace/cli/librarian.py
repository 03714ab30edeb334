"""`commonplace librarian scan`, `watch` and `enrich`: keep the function registry in step with the source."""

import argparse
import contextlib
import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.cli import operation_call
from commonplace.librarian.endpoint import ModelEndpoint
from commonplace.librarian.enrich import Enrichment, EnrichmentRun, start_librarian_session
from commonplace.librarian.registry import CallOperation, FunctionRegistry, RegistryDifference, SyncOutcome
from commonplace.librarian.scan import TreeScan, progress_bar
from commonplace.librarian.source_tree import SourceTree
from commonplace.librarian.watch import TreeWatch


def run(arguments: argparse.Namespace) -> int:
    acts = {"scan": _run_scan, "watch": _run_watch, "enrich": _run_enrich}
    acts[arguments.act](arguments)
    return 0


def _operation_caller(arguments: argparse.Namespace) -> CallOperation:
    def call(name: str, operation_arguments: Mapping[str, Any]) -> dict[str, Any]:
        return operation_call.call_operation(name, operation_arguments, arguments)

    return call


def _run_scan(arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    scan = TreeScan(SourceTree(Path(arguments.path), _prefix_of_tree(arguments)))
    scan.refresh_files(progress_bar("reading"))
    registry = FunctionRegistry(_operation_caller(arguments), arguments.project)
    difference = registry.compute_difference(scan)
    print(f"{len(scan.files)} files, {scan.lines} lines read in {time.monotonic() - started:.1f} s.")
    if arguments.dry_run:
        print(_format_plan(difference))
    else:
        print(_format_outcome(registry.apply_difference(difference, progress_bar("registering")), difference))


def _prefix_of_tree(arguments: argparse.Namespace) -> str:
    prefix: str = arguments.prefix.strip("/")
    return f"{prefix}/" if prefix else ""


def _format_plan(difference: RegistryDifference) -> str:
    lines = [f"  {function.file}:{function.line} {function.name}" for function, _ in difference.changed[:20]]
    more = len(difference.changed) - len(lines)
    summary = f"Would register or update {len(difference.changed)}, mark {len(difference.gone)} as gone"
    return "\n".join(
        [f"{summary}; {difference.unchanged} are unchanged.", *lines, *([f"  and {more} more"] * (more > 0))]
    )


def _format_outcome(outcome: SyncOutcome, difference: RegistryDifference) -> str:
    return (
        f"{outcome.added} added, {outcome.updated} updated, {outcome.moved} moved, {outcome.gone} gone,"
        f" {difference.unchanged + len(difference.lines)} unchanged."
    )


def _run_watch(arguments: argparse.Namespace) -> None:
    stop = threading.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: stop.set())
    scan = TreeScan(SourceTree(Path(arguments.path), _prefix_of_tree(arguments)))

    def print_outcome(outcome: SyncOutcome) -> None:
        print(_format_outcome(outcome, RegistryDifference()).rsplit(",", 1)[0] + ".", flush=True)

    TreeWatch(scan, FunctionRegistry(_operation_caller(arguments), arguments.project), print_outcome).run(
        stop, progress_bar("reading")
    )


def _run_enrich(arguments: argparse.Namespace) -> None:
    endpoint = ModelEndpoint(arguments.model, _read_model_key())
    call, end = start_librarian_session(_operation_caller(arguments), arguments.project)
    with contextlib.ExitStack() as session:
        session.callback(end)
        enrichment = Enrichment(call, arguments.project, arguments.budget)
        if arguments.dry_run:
            print(
                f"Would send {_format_enrichment(enrichment.plan_run(), arguments.price)} to {endpoint.url} ({endpoint.model})."
            )
            print("Nothing was sent.")
        else:
            print(
                f"Described {_format_enrichment(enrichment.run(endpoint, progress_bar('describing')), arguments.price)}."
            )


def _read_model_key() -> str:
    return os.environ.get("COMMONPLACE_LIBRARIAN_KEY") or os.environ.get("ANTHROPIC_API_KEY", "")


def _format_enrichment(run: EnrichmentRun, price: list[float] | None) -> str:
    cost = f", {run.compute_cost((price[0], price[1])):.4f} at these prices" if price else ""
    rest = f" ({run.failed} answers were unusable)" if run.failed else ""
    rest += f" ({run.without_code} have no source text)" if run.without_code else ""
    ended = "; the budget is used up" if run.over_budget else ""
    return f"{run.described} of {run.waiting} functions: {run.prompt_tokens} + {run.completion_tokens} tokens{cost}{rest}{ended}"
