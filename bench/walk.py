"""Count the files of ours that one HTTP call enters, from the socket to the commit on disk.

    .venv/bin/python -m bench.walk [operation] [--list]

The server runs in this process on SQLite. A first call warms every cache that is filled once; the second one is traced,
in every thread.
"""

import argparse
import asyncio
import http.client
import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import commonplace
from commonplace import background, server
from commonplace.config import Settings

SOURCE = Path(commonplace.__file__).parent
ARGUMENTS: dict[str, dict[str, Any]] = {
    "memory_record_learning": {"topic": "Carts", "content": "They expire after a day."},
    "memory_heartbeat": {},
    "memory_query": {"query": "carts"},
}


class WalkRecorder:
    """The source files and their functions that run while it records, in the order in which they were entered."""

    def __init__(self) -> None:
        self.functions: dict[str, dict[str, None]] = {}
        self.is_recording = False

    def trace_call(self, frame: FrameType, event: str, _argument: object) -> None:
        if self.is_recording and event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            if frame.f_code.co_name == "serve_http" or _is_in_background(frame):
                return
            file = str(Path(frame.f_code.co_filename).relative_to(SOURCE))
            self.functions.setdefault(file, {}).setdefault(frame.f_code.co_qualname)

    def install(self) -> None:
        """Trace every thread that starts from now on, and this one."""
        threading.setprofile(self.trace_call)
        sys.setprofile(self.trace_call)


def _is_in_background(frame: FrameType | None) -> bool:
    """Periodic work that happens to run meanwhile is not part of the call."""
    while frame is not None:
        if frame.f_code.co_filename == background.__file__:
            return True
        frame = frame.f_back
    return False


def post(port: int, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", f"/api/{operation}", json.dumps(arguments))
    reply: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return reply


def walk(operation: str) -> dict[str, dict[str, None]]:
    """Serve in this thread, call from another, and stop as a signal would."""
    recorder, failures = WalkRecorder(), list[BaseException]()

    def run_calls(url: str) -> None:
        try:
            make_calls(int(url.rsplit(":", 1)[1]), operation, recorder)
        except BaseException as failure:  # noqa: BLE001 - raised again where the server runs
            failures.append(failure)
        os.kill(os.getpid(), signal.SIGTERM)

    recorder.install()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(port=0, data=Path(folder), embeddings="off")
        asyncio.run(
            server.serve_http(settings, lambda url: threading.Thread(target=run_calls, args=[url]).start())
        )
    if failures:
        raise failures[0]
    return recorder.functions


def make_calls(port: int, operation: str, recorder: WalkRecorder) -> None:
    started = post(port, "memory_start_session", {"project": "shop", "claude_instance": "ann"})
    arguments = {"session_id": started["session_id"]} | ARGUMENTS.get(operation, {})
    post(port, operation, arguments)
    if "content" in arguments:
        arguments["content"] = "Totals are rounded once, at the end."
    recorder.is_recording = True
    reply = post(port, operation, arguments)
    recorder.is_recording = False
    if "error" in reply:
        raise RuntimeError(f"a refused call takes a shorter way: {reply}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operation", nargs="?", default="memory_record_learning")
    parser.add_argument(
        "--list",
        action="store_true",
        help="print the files and functions in the order in which they are entered",
    )
    options = parser.parse_args()
    files = walk(options.operation)
    print(f"{options.operation}: {len(files)} files")
    if options.list:
        print("\n".join(f"{file}: {', '.join(functions)}" for file, functions in files.items()))


if __name__ == "__main__":
    main()
