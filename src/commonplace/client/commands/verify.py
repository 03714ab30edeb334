"""commonplace verify: compare what documents cite with a checkout."""

import argparse
from pathlib import Path

from commonplace import errors
from commonplace.client.verify import verification


def run(arguments: argparse.Namespace, call: verification.CallOperation) -> int:
    root = Path(arguments.path).expanduser()
    if not root.is_dir():
        raise errors.NotFound(f"There is no folder {root}.", hint="Name the checkout to compare with.")
    totals = verification.verify_citations(call, root, arguments.project, _print_finding)
    if not totals:
        print(f"Nothing in {arguments.project} cites a file.")
        return 0
    print(", ".join(f"{totals[state]} {state}" for state in verification.STATES))
    return 0


def _print_finding(finding: verification.CitationFinding) -> None:
    """What somebody may want to look at: all that is not as it was cited."""
    if finding.line:
        print(f"{finding.state}: {finding.place}, now at line {finding.line} ({finding.document})")
    elif finding.state != "fresh":
        print(f"{finding.state}: {finding.place} ({finding.document})")
