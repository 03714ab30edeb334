"""What `commonplace doctor` says of rows that are not those that were written."""

import argparse
from collections.abc import Iterator
from time import monotonic

from commonplace import errors
from commonplace.cli import operation_call
from commonplace.cli.backup_report import Progress
from commonplace.client.doctor.finding import Finding

_SECONDS = 5.0
_SHOWN_ROWS = 10


def check_row_hashes(arguments: argparse.Namespace) -> Iterator[Finding]:
    """Compare rows with their hashes: for some seconds, with --deep until the last row."""
    progress, ends = Progress("rows"), monotonic() + _SECONDS
    damaged: list[str] = []
    checked, unhashed, after = 0, 0, ""
    try:
        while True:
            page = operation_call.call_operation("memory_check_rows", {"after": after}, arguments)
            damaged += page.get("damaged", [])
            checked, unhashed = checked + page["checked"], unhashed + page.get("unhashed", 0)
            after = page.get("next", "")
            progress(f"{checked:,} checked")
            if not after or (not arguments.deep and monotonic() > ends):
                break
    except (errors.Forbidden, errors.NotFound):
        return  # `memory_inspect_server` was refused too, and that was said
    except errors.Refusal as refusal:
        yield Finding("rows", "problem", refusal.message, refusal.hint or "")
        return
    finally:
        progress.close()
    yield _describe_rows(checked, unhashed, damaged, is_complete=not after)


def _describe_rows(checked: int, unhashed: int, damaged: list[str], *, is_complete: bool) -> Finding:
    if damaged:
        more = f" and {len(damaged) - _SHOWN_ROWS} more" if len(damaged) > _SHOWN_ROWS else ""
        rows = ", ".join(damaged[:_SHOWN_ROWS])
        return Finding(
            "rows",
            "problem",
            f"{len(damaged)} of {checked:,} rows are not those that were written: {rows}{more}",
            "Stop the server, then restore the last backup that is older: commonplace restore BACKUP",
        )
    waiting = f"; {unhashed:,} wait for their hash" if unhashed else ""
    rest = "" if is_complete else f" in {_SECONDS:.0f} seconds; --deep checks all of them"
    return Finding(
        "rows", "ok", f"{checked:,} documents and archives are as they were written{waiting}{rest}"
    )
