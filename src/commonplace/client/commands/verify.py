"""`commonplace verify`: compare the citations of documents with a checkout."""

import argparse
from pathlib import Path

from commonplace import errors
from commonplace.client.verify import verification


def run(arguments: argparse.Namespace, call: verification.CallOperation) -> int:
    root = Path(arguments.path).expanduser()
    if not root.is_dir():
        raise errors.NotFound(f"{root} is not a folder.", hint="Pass the path of a checkout.")
    totals = verification.verify_citations(
        call, root, arguments.project, _print_finding, with_lines=arguments.lines
    )
    if not totals:
        print(f"No document of {arguments.project} cites a file.")
        return 0
    print(", ".join(f"{totals[state]} {state}" for state in verification.STATES))
    return 0


def _print_finding(finding: verification.CitationFinding) -> None:
    """Print a finding, unless the citation is fresh and has not moved."""
    if finding.line:
        print(f"{finding.state}: {finding.place}, now at line {finding.line} ({finding.document})")
    elif finding.state != "fresh":
        print(f"{finding.state}: {finding.place} ({finding.document})")
