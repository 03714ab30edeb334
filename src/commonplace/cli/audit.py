"""`commonplace audit verify` and `commonplace audit heads`."""

import argparse
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.cli import operation_call

_HEAD_FIELDS = 3


def run(arguments: argparse.Namespace) -> int:
    chains = operation_call.call_operation("memory_list_audit_chains", {}, arguments)["chains"]
    if arguments.act == "heads":
        for chain in chains:
            print(f"{chain['seal']} {chain['hash']} {chain['project']}")
        return 0
    known = _read_heads(arguments.heads) if arguments.heads else {}
    projects = (
        [arguments.project]
        if arguments.project
        else sorted({chain["project"] for chain in chains} | known.keys())
    )
    results = [_verify_project(project, known.get(project), arguments) for project in projects]
    if not projects:
        print("No audit row is sealed yet.")
    return 0 if all(results) else 1


def _read_heads(path: str) -> dict[str, tuple[int, str]]:
    """The seal and the hash of each project; one line each, as `audit heads` prints them."""
    heads = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        for line in lines:
            seal, digest, project = line.split(" ", _HEAD_FIELDS - 1)
            heads[project] = (int(seal), digest)
    except (OSError, ValueError) as wrong:
        raise errors.Invalid(
            f"{path} cannot be read as a list of heads ({wrong}).",
            hint="Pass a file that `commonplace audit heads` printed.",
        ) from None
    return heads


def _verify_project(project: str, known: tuple[int, str] | None, arguments: argparse.Namespace) -> bool:
    """Print what was found; whether the project's log is as it was written."""
    rows = 0
    problems: list[str] = []
    redacted: list[str] = []
    page: dict[str, Any] = {"next_after": 0, "unsealed": 0}
    wanted: dict[str, Any] = {"known_seal": known[0], "known_hash": known[1]} if known else {}
    while (after := page.get("next_after")) is not None:
        page = operation_call.call_operation(
            "memory_verify_audit", {"name": project, "after": after} | wanted, arguments
        )
        wanted = {}
        rows += page["rows"]
        problems += page["problems"]
        redacted += page.get("redacted", [])
    state = "DAMAGED" if problems else "ok"
    print(
        f"{project or '(no project)'}: {state}, {rows} rows sealed, {page.get('unsealed', 0)} not sealed yet"
    )
    for problem in problems:
        print(f"  {problem}")
    for row in redacted:
        print(f"  The row {row} was redacted.")
    return not problems
