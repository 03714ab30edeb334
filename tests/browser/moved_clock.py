"""Runs the server with a clock that is behind by as many seconds as a file says: a team's day is played in seconds.

Usage: moved_clock.py FILE PYTHON -m commonplace serve ... (the command of `product.start`, after its `within`).
"""

import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path


def move_clock(file: Path) -> None:
    read_ns: Callable[[], int] = time.time_ns

    def read_moved_ns() -> int:
        return read_ns() - int(float(file.read_text()) * 1e9)

    time.time_ns = read_moved_ns
    time.time = lambda: read_moved_ns() / 1e9


if __name__ == "__main__":
    move_clock(Path(sys.argv[1]))
    sys.argv = ["commonplace", *sys.argv[5:]]
    runpy.run_module("commonplace", run_name="__main__")
