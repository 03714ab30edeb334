"""python -m bench.hooks: how long an agent waits for its hooks, compared with the bare interpreter."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.__main__ import free_port, running_server

HOOK = [sys.executable, "-m", "commonplace", "hook", "claude"]
FILE = "src/cart.py"


def build_event(root: Path, session: str, event: str, **more: object) -> bytes:
    return json.dumps({"session_id": session, "cwd": str(root), "hook_event_name": event, **more}).encode()


def build_edit_event(root: Path, session: str, file: str = FILE) -> bytes:
    return build_event(
        root, session, "PreToolUse", tool_name="Edit", tool_input={"file_path": str(root / file)}
    )


def run_hook(command: list[str], environ: dict[str, str], given: bytes) -> tuple[float, float, bytes]:
    before, worked = time.perf_counter(), read_child_cpu_seconds()
    done = subprocess.run(command, input=given, env=environ, capture_output=True, check=True, timeout=10)
    return 1e3 * (time.perf_counter() - before), 1e3 * (read_child_cpu_seconds() - worked), done.stdout


def read_child_cpu_seconds() -> float:
    """CPU seconds of child processes that ended; unlike wall time they do not depend on the machine's load."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_row(
    what: str, command: list[str], environ: dict[str, str], given: bytes, rounds: int, said: bytes
) -> None:
    """The answer is checked too: a hook that does nothing would be fast."""
    waits, works = [], []
    for _ in range(rounds):
        waited, worked, answer = run_hook(command, environ, given)
        assert said in answer if said else not answer, answer
        waits.append(waited)
        works.append(worked)
    waits.sort()
    figures = (statistics.median(waits), waits[int(0.95 * (rounds - 1))], waits[0], statistics.median(works))
    print(f"| {what:44} |" + "".join(f" {figure:7.1f} |" for figure in figures))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        root, port = Path(folder) / "shop", free_port()
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        here = os.environ | {
            "COMMONPLACE_HOME": f"{folder}/home",
            "COMMONPLACE_URL": f"http://127.0.0.1:{port}",
        }
        away = here | {"COMMONPLACE_URL": "http://127.0.0.1:9"}
        print(
            f"| {'milliseconds, ' + str(rounds) + ' runs each':44} |     p50 |     p95 |   least | CPU p50 |"
        )
        print(f"|{'-' * 46}|" + "--------:|" * 4)
        print_row("interpreter alone", [sys.executable, "-c", "pass"], here, b"", rounds, b"")
        run_hook(HOOK, away, build_edit_event(root, "nobody"))
        print_row("before an edit, server away", HOOK, away, build_edit_event(root, "nobody"), rounds, b"")
        with running_server(
            port, "-m", "commonplace", "serve", "--port", str(port), "--data", f"{folder}/data"
        ):
            run_hook(HOOK, here, build_event(root, "alice", "SessionStart"))
            run_hook(HOOK, here, build_edit_event(root, "alice"))
            run_hook(HOOK, here, build_event(root, "bob", "SessionStart"))
            print_row(
                "before an edit, lease taken or renewed",
                HOOK,
                here,
                build_edit_event(root, "alice"),
                rounds,
                b"",
            )
            print_row(
                "before an edit, held by another: denied",
                HOOK,
                here,
                build_edit_event(root, "bob"),
                rounds,
                b'"deny"',
            )
            touched = json.loads(build_edit_event(root, "alice")) | {"hook_event_name": "PostToolUse"}
            print_row("after an edit, reported", HOOK, here, json.dumps(touched).encode(), rounds, b"")
            again = build_event(root, "alice", "SessionStart", source="compact")
            print_row("session start after a compaction", HOOK, here, again, rounds, b"additionalContext")


if __name__ == "__main__":
    main()
