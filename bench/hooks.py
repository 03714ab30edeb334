"""python -m bench.hooks: what an agent waits for at its hooks, beside the bare interpreter."""

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

from bench.__main__ import free_port, started

HOOK = [sys.executable, "-m", "commonplace", "hook", "claude"]
FILE = "src/cart.py"


def sent(root: Path, session: str, event: str, **more: object) -> bytes:
    return json.dumps({"session_id": session, "cwd": str(root), "hook_event_name": event, **more}).encode()


def edit(root: Path, session: str, file: str = FILE) -> bytes:
    return sent(root, session, "PreToolUse", tool_name="Edit", tool_input={"file_path": str(root / file)})


def run(command: list[str], environ: dict[str, str], given: bytes) -> tuple[float, float, bytes]:
    before, worked = time.perf_counter(), work()
    done = subprocess.run(command, input=given, env=environ, capture_output=True, check=True, timeout=10)
    return 1e3 * (time.perf_counter() - before), 1e3 * (work() - worked), done.stdout


def work() -> float:
    """CPU seconds of the processes that were waited for: on a busy machine the figure that stays."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row(
    what: str, command: list[str], environ: dict[str, str], given: bytes, rounds: int, said: bytes
) -> None:
    """The answer is checked too: a fast hook that does nothing is no figure."""
    waits, works = [], []
    for _ in range(rounds):
        waited, worked, answer = run(command, environ, given)
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
        row("interpreter alone", [sys.executable, "-c", "pass"], here, b"", rounds, b"")
        run(HOOK, away, edit(root, "nobody"))
        row("before an edit, server away", HOOK, away, edit(root, "nobody"), rounds, b"")
        with started(port, "-m", "commonplace", "serve", "--port", str(port), "--data", f"{folder}/data"):
            run(HOOK, here, sent(root, "alice", "SessionStart"))
            run(HOOK, here, edit(root, "alice"))
            run(HOOK, here, sent(root, "bob", "SessionStart"))
            row("before an edit, lease taken or renewed", HOOK, here, edit(root, "alice"), rounds, b"")
            row("before an edit, held by another: denied", HOOK, here, edit(root, "bob"), rounds, b'"deny"')
            touched = json.loads(edit(root, "alice")) | {"hook_event_name": "PostToolUse"}
            row("after an edit, reported", HOOK, here, json.dumps(touched).encode(), rounds, b"")
            again = sent(root, "alice", "SessionStart", source="compact")
            row("session start after a compaction", HOOK, here, again, rounds, b"additionalContext")


if __name__ == "__main__":
    main()
