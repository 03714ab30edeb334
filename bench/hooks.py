"""python -m bench.hooks: what hooks cost and how long an agent waits for them, as ratios to the bare interpreter.

CPU is that of the launcher and, between two readings of /proc, that of the companion.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from bench.__main__ import free_port, running_server
from bench.tls_relay import TlsRelay
from commonplace.client import hook
from commonplace.client.link import remote

BARE = [sys.executable, "-ISE", "-c", "0"]
LAUNCHER = [sys.executable, "-ISE", hook.__file__, "claude"]
ALONE = [sys.executable, "-P", "-m", "commonplace", "hook", "--alone", "missing", "claude"]
FILE = "src/cart.py"
MIX = {"ls -la": 40, "pytest -q": 25, "git status": 15, "edit": 30, "read": 15}
"""125 tool calls of a session; an edit has a hook before and one after it, a read has none."""


class Machine:
    """A home with its companion, a repository and a server."""

    def __init__(self, folder: Path, name: str, url: str, **environ: str) -> None:
        self.home, self.root = folder / name, folder / "shop"
        self.environ = os.environ | {"COMMONPLACE_HOME": str(self.home), "COMMONPLACE_URL": url} | environ

    def event(self, session: str, event: str, **more: object) -> bytes:
        fields = {"session_id": session, "cwd": str(self.root), "hook_event_name": event, **more}
        return json.dumps(fields).encode()

    def edit(self, session: str, event: str = "PreToolUse", file: str = FILE) -> bytes:
        return self.event(session, event, tool_name="Edit", tool_input={"file_path": str(self.root / file)})

    def shell(self, session: str, line: str) -> bytes:
        return self.event(session, "PreToolUse", tool_name="Bash", tool_input={"command": line})

    def run(self, command: list[str], event: bytes) -> tuple[float, float, bytes]:
        """Milliseconds of wall time and of CPU, and the answer."""
        companion = self.find_companion()
        before, worked = time.perf_counter(), _cpu_seconds(companion)
        done = subprocess.run(
            command, input=event, env=self.environ, capture_output=True, check=True, timeout=60
        )
        waited = time.perf_counter() - before
        return 1e3 * waited, 1e3 * (_cpu_seconds(companion) - worked), done.stdout

    def start_companion(self) -> None:
        self.run(LAUNCHER, self.event("first", "SessionStart"))
        until = time.monotonic() + 20
        while self.find_companion() is None:
            if time.monotonic() > until:
                raise TimeoutError("no companion was started")
            time.sleep(0.05)

    def find_companion(self) -> psutil.Process | None:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                if "companion" in words[-2:] and process.environ().get("COMMONPLACE_HOME") == str(self.home):
                    return process if (self.home / "companion.sock").exists() else None
        return None

    def close(self) -> None:
        if companion := self.find_companion():
            companion.kill()


def _cpu_seconds(companion: psutil.Process | None) -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = companion.cpu_times() if companion else None
    return used.ru_utime + used.ru_stime + (own.user + own.system if own else 0.0)


def measure(machine: Machine, command: list[str], event: bytes, rounds: int, said: bytes) -> list[float]:
    """Medians of wall time and of CPU. The answer is checked: a hook that does nothing would be fast.

    The clock of /proc counts in hundredths of a second, so CPU is the mean over all rounds.
    """
    waits, works = [], []
    for _ in range(rounds):
        waited, worked, answer = machine.run(command, event)
        assert said in answer if said else not answer, answer
        waits.append(waited)
        works.append(worked)
    return [statistics.median(waits), statistics.fmean(works)]


def print_table(title: str, rows: Mapping[str, list[float]], bare: list[float]) -> None:
    print(f"\n| {title:44} | wall ms | CPU ms | wall : bare | CPU : bare |")
    print(f"|{'-' * 46}|--------:|-------:|------------:|-----------:|")
    for what, (wall, cpu) in rows.items():
        print(f"| {what:44} | {wall:7.1f} | {cpu:6.1f} | {wall / bare[0]:11.2f} | {cpu / bare[1]:10.2f} |")


def measure_events(machine: Machine, command: list[str], rounds: int) -> dict[str, list[float]]:
    ann, ben = f"ann{len(command)}", f"ben{len(command)}"
    machine.run(command, machine.event(ann, "SessionStart"))
    machine.run(command, machine.edit(ann))
    machine.run(command, machine.event(ben, "SessionStart"))
    machine.run(command, machine.edit(ben))
    machine.run(command, machine.edit(ann, "PostToolUse"))  # brings the news that another one wants the file
    cases = {
        "before `ls -la`": (machine.shell(ann, "ls -la"), b""),
        "before `pytest -q`": (machine.shell(ann, "pytest -q"), b""),
        "before `git status`": (machine.shell(ann, "git status"), b""),
        "before an edit, lease renewed": (machine.edit(ann), b""),
        "after an edit, reported": (machine.edit(ann, "PostToolUse"), b""),
        "before an edit, denied": (machine.edit(ben), b'"deny"'),
        "session start after a compaction": (
            machine.event(ann, "SessionStart", source="compact"),
            b"additionalContext",
        ),
    }
    rows = {what: measure(machine, command, event, rounds, said) for what, (event, said) in cases.items()}
    machine.run(command, machine.event(ann, "SessionEnd"))
    return rows


def measure_session(machine: Machine, command: list[str]) -> float:
    """CPU seconds of a session with 125 tool calls."""
    total = machine.run(command, machine.event("whole", "SessionStart"))[1]
    for what, count in MIX.items():
        for number in range(count):
            if what == "edit":
                events = [
                    machine.edit("whole", name, f"src/part{number}.py")
                    for name in ("PreToolUse", "PostToolUse")
                ]
            else:
                events = [] if what == "read" else [machine.shell("whole", what)]
            total += sum(machine.run(command, event)[1] for event in events)
    return (total + machine.run(command, machine.event("whole", "SessionEnd"))[1]) / 1e3


@contextlib.contextmanager
def running_relay(port: int, round_trip_seconds: float, folder: Path) -> Iterator[TlsRelay]:
    """In a thread, since the hooks run in this one."""
    relay, started, ended = TlsRelay(port, round_trip_seconds, folder), threading.Event(), threading.Event()

    async def relay_until_ended() -> None:
        async with relay.run():
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(relay_until_ended()))
    thread.start()
    started.wait()
    try:
        yield relay
    finally:
        ended.set()
        thread.join()


def measure_remote(folder: Path, port: int, rounds: int, bare: list[float]) -> None:
    for milliseconds in (0, 80):
        with running_relay(port, milliseconds / 1e3, folder) as relay:
            machine = Machine(folder, f"h{milliseconds}", relay.url, COMMONPLACE_CA_FILE=str(relay.ca_file))
            rows = {}
            for what, command in (("companion", LAUNCHER), ("alone", ALONE)):
                if command is LAUNCHER:
                    machine.start_companion()
                else:
                    machine.close()
                    machine.environ["COMMONPLACE_HOOKS_COMPANION"] = "0"
                machine.run(command, machine.event(what, "SessionStart"))
                machine.run(command, machine.edit(what, file=f"{what}.py"))
                edit = machine.edit(what, file=f"{what}.py")
                rows[f"{what}: before an edit"] = measure(machine, command, edit, rounds, b"")
                machine.run(command, machine.event(what, "SessionEnd"))
            print_table(f"over TLS, round trip {milliseconds} ms", rows, bare)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder, port = Path(temporary), free_port()
        subprocess.run(["git", "init", "-q", str(folder / "shop")], check=True)
        serve = ("-m", "commonplace", "serve", "--port", str(port), "--data", f"{folder}/data")
        machine = Machine(folder, "h", f"http://127.0.0.1:{port}")
        with running_server(port, *serve):
            try:
                remote.is_answering(f"http://127.0.0.1:{port}", 10)
                bare = measure(machine, BARE, b"", rounds, b"")
                machine.start_companion()
                rows = {"bare interpreter": bare} | measure_events(machine, LAUNCHER, rounds)
                print_table("through the companion", rows, bare)
                print(f"\n125 tool calls, CPU seconds: {measure_session(machine, LAUNCHER):.2f}", end="")
                machine.close()
                machine.environ["COMMONPLACE_HOOKS_COMPANION"] = "0"
                print(f" (alone: {measure_session(machine, ALONE):.2f})")
                print_table("each hook alone", measure_events(machine, ALONE, max(5, rounds // 4)), bare)
                measure_remote(folder, port, rounds, bare)
            finally:
                machine.close()


if __name__ == "__main__":
    main()
