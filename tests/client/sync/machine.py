"""A machine with agents on it: their folders and files, and `commonplace sync` as its user runs it."""

import contextlib
import io
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import product
from commonplace.__main__ import main

LONG_AGO = 1_760_000_000


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@dataclass
class Machine:
    root: Path
    url: str = ""

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def environment(self, **more: str) -> dict[str, str]:
        known = {"HOME": str(self.home), "COMMONPLACE_HOME": str(self.state)}
        known |= {"COMMONPLACE_URL": self.url} if self.url else {"COMMONPLACE_DATA": str(self.root / "none")}
        return product.environment(**known, **more)

    def sync(self, *arguments: str, **more: str) -> Outcome:
        """In this process, for speed; its environment is the machine's."""
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.dict(os.environ, self.environment(**more), clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main(["sync", *arguments])
        return Outcome(code, out.getvalue(), err.getvalue())

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL, **more: str) -> subprocess.Popen[bytes]:
        """As its user starts it."""
        return subprocess.Popen(
            product.command("sync", *arguments),
            env=self.environment(**more),
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def write(self, place: str, *lines: Any, raw: bytes = b"") -> Path:
        """A file of the home folder, long untouched: objects as JSON lines, bytes as they are."""
        path = self.home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(_line(each) for each in lines) + raw)
        os.utime(path, (LONG_AGO, LONG_AGO))
        return path

    def append(self, path: Path, *lines: Any) -> None:
        with path.open("ab") as file:
            file.writelines(_line(each) for each in lines)
        os.utime(path, (LONG_AGO + 60, LONG_AGO + 60))

    def repository(self, name: str) -> Path:
        folder = self.home / name
        (folder / ".git").mkdir(parents=True)
        return folder


def config(machine: Machine, text: str) -> None:
    machine.state.mkdir(exist_ok=True)
    (machine.state / "config.toml").write_text(f'machine = "lap"\n{text}')


def claude(machine: Machine, session: str, *lines: Any) -> Path:
    """A transcript of Claude Code about the folder ~/shop."""
    cwd = machine.home / "shop"
    first = {
        "type": "user",
        "cwd": str(cwd),
        "sessionId": session,
        "message": {"role": "user", "content": "hi"},
    }
    return machine.write(f".claude/projects/-home-ann-shop/{session}.jsonl", first, *lines)


def _line(each: Any) -> bytes:
    return each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n"


def archived(server: product.Product, workspace: str, session: str, key: str = "") -> bytes:
    """The exact bytes that the server holds."""
    headers = {"Range": "bytes=0-"} | ({"Authorization": f"Bearer {key}"} if key else {})
    status, body, _ = server.request("GET", f"/archives/{workspace}/{session}", None, headers)
    assert status == 206, body
    return body
