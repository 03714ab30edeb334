"""The pinned programs of the MCP project: the conformance suite and the Inspector."""

import subprocess
from pathlib import Path

import nodejs
from patience import PATIENCE_SECONDS

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(nodejs.NODE), str(script), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=2 * PATIENCE_SECONDS, check=False, cwd=HERE
    )
