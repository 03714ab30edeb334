"""commonplace verify: compare what documents cite with a checkout."""

import argparse
from pathlib import Path

from commonplace import errors
from commonplace.client.verify import citations


def run(arguments: argparse.Namespace, call: citations.Call) -> int:
    root = Path(arguments.path).expanduser()
    if not root.is_dir():
        raise errors.NotFound(f"There is no folder {root}.", hint="Name the checkout to compare with.")
    totals = citations.verify(call, root, arguments.project, _show)
    if not totals:
        print(f"Nothing in {arguments.project} cites a file.")
        return 0
    print(", ".join(f"{totals[state]} {state}" for state in citations.STATES))
    return 0


def _show(finding: citations.Finding) -> None:
    """What somebody may want to look at: all that is not as it was cited."""
    if finding.line:
        print(f"{finding.state}: {finding.place}, now at line {finding.line} ({finding.document})")
    elif finding.state != "fresh":
        print(f"{finding.state}: {finding.place} ({finding.document})")
