"""What somebody new does in the first hour, as scripts that are run: `make newcomer`.

Four stories, each on an empty home folder and an empty data folder: a first answer, two agents of different makers, a
team server with TLS and keys, and a restored backup. Each prints its seconds and its commands, and fails if something
is not as a person would expect. `--program PATH` tries another installation, such as that of a wheel; `--agents` tells
the second story with the programs themselves, which npm installs (`newcomer_agents.py`).
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.tls_relay import TlsRelay  # noqa: E402 - after the path

from second_machine import SecondMachine, connect_second_machine  # noqa: E402 - after the path

TRANSCRIPT = ROOT / "tests/transcripts/recorded/claude.jsonl"
PATIENCE_SECONDS = float(os.environ.get("COMMONPLACE_TEST_PATIENCE", "60"))


class Person:
    """Somebody at a machine of their own: a home folder, and commands that are counted."""

    def __init__(self, program: list[str], home: Path, **environ: str) -> None:
        self.home, self._program, self.commands = home, program, 0
        home.mkdir(parents=True, exist_ok=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("COMMONPLACE_", "CLAUDE", "CODEX"))
        }
        self._environ = kept | {"HOME": str(home), "XDG_DATA_HOME": str(home / "data")} | environ

    def run(self, *words: str, stdin: str = "", fails: bool = False) -> str:
        self.commands += 1
        done = subprocess.run(
            [*self._program, *words], input=stdin, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
            env=self._environ, cwd=self.home,
        )  # fmt: skip
        if bool(done.returncode) != fails:
            sys.exit(
                f"`commonplace {' '.join(words)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return (done.stderr or done.stdout) if fails else done.stdout

    def hook(self, agent: str, **event: Any) -> str:
        return self.run("hook", agent, stdin=json.dumps({"cwd": str(self.home / "shop"), **event}))

    @contextlib.contextmanager
    def serve(self, *flags: str) -> Iterator[str]:
        """Run `commonplace serve`; yields its address."""
        self.commands += 1
        server = subprocess.Popen(
            [*self._program, "serve", *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=self._environ, cwd=self.home,
        )  # fmt: skip
        try:
            assert server.stdout is not None
            yield "http://" + server.stdout.readline().partition("http://")[2].split()[0]
        finally:
            server.terminate()
            server.wait(PATIENCE_SECONDS)


def require(condition: object, text: str, shown: str = "") -> None:
    if not condition:
        sys.exit(f"Not as expected: {text}\n{shown}")


def first_answer(program: list[str], folder: Path) -> int:
    """A person with Claude Code and a transcript types one line."""
    person = Person(program, folder / "ann")
    projects = person.home / ".claude/projects/-home-ann-shop"
    projects.mkdir(parents=True)
    transcript = projects / "6f1c2d3e-0000-4000-8000-000000000001.jsonl"
    shutil.copy(TRANSCRIPT, transcript)
    yesterday = time.time() - 86_400
    os.utime(transcript, (yesterday, yesterday))  # what was written just now may not be complete
    data = folder / "store"
    try:
        shown = person.run("up", "--yes", "--no-browser", "--port", "0", "--data", str(data))
    finally:
        stopped = person.run("down", "--data", str(data))
    require("Stopped the server" in stopped, "down stops what up started", stopped)
    require("you asked   Why is the cart empty" in shown, "the newest question", shown)
    require("it ended    " in shown, "how that session ended", shown)
    return person.commands


def two_makers(program: list[str], folder: Path) -> int:
    """Claude Code holds a file, Codex is denied it; Claude hands over, and Codex reads the handoff."""
    person = Person(program, folder / "ann")
    (person.home / "shop").mkdir()
    subprocess.run(["/usr/bin/env", "git", "init", "-q", str(person.home / "shop")], check=True)
    with person.serve("--port", "0") as url:
        for agent in ("claude", "codex"):
            (person.home / f".{agent}").mkdir()
        person.run("install", "--url", url, "--yes", "--no-schedule")
        edit = {
            "tool_name": "Edit",
            "tool_use_id": "1",
            "tool_input": {"file_path": str(person.home / "shop/cart.py")},
        }
        patch = {"command": "*** Begin Patch\n*** Update File: cart.py\n@@\n-a\n+b\n*** End Patch\n"}
        person.hook("claude", hook_event_name="SessionStart", session_id="claude-1", source="startup")
        person.hook("claude", hook_event_name="PreToolUse", session_id="claude-1", **edit)
        person.hook("codex", hook_event_name="SessionStart", session_id="codex-1", source="startup")
        denied = person.hook(
            "codex",
            hook_event_name="PreToolUse",
            session_id="codex-1",
            tool_name="apply_patch",
            tool_use_id="2",
            tool_input=patch,
        )
        require(
            '"permissionDecision":"deny"' in denied.replace(" ", ""),
            "Codex is denied the file that Claude edits",
            denied,
        )
        session = json.loads(
            person.run("call", "memory_start_session", "--project", "shop", "--claude-instance", "backend")
        )
        notes = "The load test is still to do"
        person.run(
            "call",
            "memory_end_session",
            "--session-id",
            session["session_id"],
            "--summary",
            "Pool set",
            "--handoff-notes",
            notes,
        )
        context = person.hook("codex", hook_event_name="SessionStart", session_id="codex-2", source="startup")
        found = re.search(r"doc_[0-9a-f]{12}", context)
        require(found and "Pool set" in context, "the next Codex session is told of the handoff", context)
        shown = person.run("show", found[0]) if found else ""
        require(notes in shown, "the handoff has the notes", shown)
    return person.commands


def two_programs(program: list[str], folder: Path) -> int:
    """The same with Claude Code and Codex themselves."""
    from newcomer_agents import tell_story  # noqa: PLC0415 - needs packages of development

    person = Person(program, folder / "ann")
    with person.serve("--port", "0", "--data", str(folder / "store")) as url:
        return person.commands + tell_story(program, url, folder, require)


def team_server(program: list[str], folder: Path) -> int:
    """A server with keys behind TLS, used from another machine with nothing but its address, a key and a certificate."""
    admin = Person(program, folder / "server")
    data = str(folder / "team")
    admin.run("key", "create", "--name", "ann", "--role", "owner", "--data", data)
    key = admin.run("key", "create", "--name", "ben", "--projects", "shop", "--data", data).split()[0]
    with connect_second_machine() as machine:
        flags = ("--auth", "on", "--allowed-hosts", machine.server_address, "--trusted-proxies", "127.0.0.1")
        with admin.serve("--port", "0", *flags, "--data", data) as url:
            used = asyncio.run(_use_from(machine, program, folder, int(url.rpartition(":")[2]), key))
            seen = admin.run("who", "--all", "--data", data)
            require("ben" in seen, "the server's own machine sees who works", seen)
    sys.stdout.write(f"(the second machine was {machine.kind})\n")
    return admin.commands + used


async def _use_from(machine: SecondMachine, program: list[str], folder: Path, port: int, key: str) -> int:
    (folder / "tls").mkdir()
    async with TlsRelay(port, 0, folder / "tls", machine.server_address).run() as relay:
        ca_file = {"COMMONPLACE_CA_FILE": str(relay.ca_file)}
        ben = Person([*machine.prefix, *program], folder / "ben", **ca_file)
        (ben.home / ".claude").mkdir()
        (ben.home / "shop").mkdir()

        async def run(*words: str, **more: Any) -> str:
            return await asyncio.to_thread(ben.run, *words, **more)

        wrong = ("install", "--url", relay.url, "--key", "smk_wrong", "--yes", "--no-schedule")
        refused = await run(*wrong, fails=True)
        require("key" in refused.lower(), "a wrong key is refused in words", refused)
        await run("install", "--url", relay.url, "--key", key, "--yes", "--no-schedule", "--no-diff")
        start = ("memory_start_session", "--project", "shop", "--claude-instance", "ben")
        session = json.loads(await run("call", *start))
        locked = await run(
            "call", "memory_lock_files", "--session-id", session["session_id"], "--files", '["cart.py"]'
        )
        require(json.loads(locked)["success"], "a lock from the second machine", locked)
        other = await run("search", "anything", "--project", "till", fails=True)
        require("till" in other, "a project that the key may not use is refused by name", other)
        checked = await run("doctor", "--json", fails=True)
        found = {each["check"]: each["health"] for each in json.loads(checked)["findings"]}
        require((found["server"], found["key"]) == ("ok", "ok"), "the doctor of the second machine", checked)
        return ben.commands


def restored_backup(program: list[str], folder: Path) -> int:
    """A backup of a running server, restored after its data is gone."""
    person = Person(program, folder / "ann")
    data, file = folder / "store", folder / "backups" / "team.tar.zst"
    with person.serve("--port", "0", "--data", str(data)):
        flags = ("--data", str(data))
        session = json.loads(
            person.run(
                "call", "memory_start_session", "--project", "shop", "--claude-instance", "ann", *flags
            )
        )
        person.run(
            "call", "memory_record_learning", "--session-id", session["session_id"], "--topic", "Idle connections",
            "--content", "PgBouncer closes them after ten minutes: set pool_recycle=300.", *flags,
        )  # fmt: skip
        person.run("backup", str(file), *flags)
    shutil.rmtree(data)
    shown = person.run("restore", str(file), "--data", str(data), "--yes")
    require("restored" in shown, "the restore says what it did", shown)
    found = person.run("search", "pool_recycle", "--project", "shop", "--data", str(data))
    require("Idle connections" in found, "the learning is there again", found)
    return person.commands


STORIES: dict[str, Callable[[list[str], Path], int]] = {
    "a first answer": first_answer,
    "two agents of different makers": two_makers,
    "a team server with TLS and keys": team_server,
    "a restored backup": restored_backup,
}


def main(program: list[str], only: str = "") -> None:
    for title, tell in STORIES.items():
        if only not in title:
            continue
        with tempfile.TemporaryDirectory(prefix="commonplace-newcomer-") as folder:
            started = time.monotonic()
            commands = tell(program, Path(folder))
            sys.stdout.write(f"{title:34} {time.monotonic() - started:5.1f} s  {commands:2} commands\n")
            sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", help="the `commonplace` to try (this clone's)")
    parser.add_argument("--only", default="", metavar="WORDS", help="stories whose title has these words")
    parser.add_argument(
        "--agents", action="store_true", help="tell the second story with Claude Code and Codex from npm"
    )
    given = parser.parse_args()
    if given.agents:
        from newcomer_agents import install_programs

        install_programs()
        STORIES["two agents of different makers"] = two_programs
    main([given.program] if given.program else [sys.executable, "-P", "-m", "commonplace"], given.only)
