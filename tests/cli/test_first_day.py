"""The tutorial, run as a reader would: its commands in a shell of a new user, its calls over HTTP, in their order."""

import asyncio
import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import product
from commonplace.window import WINDOW_HEADER, conversation_window
from documented_calls import CallRunner, DocumentedCall, parse_steps
from patience import PATIENCE_SECONDS, wait_until

TUTORIAL = Path(__file__).parents[2] / "docs/guides/first-day.md"
BLOCK = re.compile(r"^```(console|calls)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)


@dataclass
class Reader:
    """Somebody who has a home folder, a repository and the commands, and nothing else."""

    home: Path
    port: int
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        more = {"HOME": str(self.home), "COMMONPLACE_PORT": str(self.port), "PATH": commands}
        return product.environment(**more) | {"COMMONPLACE_HOME": str(self.home / ".commonplace")}

    def run_console(self, block: str) -> None:
        parts = COMMAND.split(block)
        for command, expected in zip(parts[1::2], parts[2::2], strict=True):
            if command.endswith("&"):
                self.start_server(command.removesuffix("&"))
                continue
            code, printed = self.run_in_terminal(command)
            assert code == 0, printed
            assert matches_output(expected, printed), f"$ {command}\n{printed}"

    def run_in_terminal(self, command: str) -> tuple[int, str]:
        """The exit code and what a person sees in a terminal of 100 columns."""
        ours, theirs = pty.openpty()
        environment = self.environment | {"COLUMNS": "100", "NO_COLOR": "1"}
        with subprocess.Popen(
            ["sh", "-c", command],
            cwd=self.home / "shop",
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            printed = b""
            with contextlib.suppress(OSError):  # how Linux tells that the other end is closed
                while part := os.read(ours, 65536):
                    printed += part
            os.close(ours)
            return process.wait(PATIENCE_SECONDS), printed.decode().replace("\r\n", "\n")

    def start_server(self, command: str) -> None:
        with (self.home / "serve.log").open("wb") as log:
            server = subprocess.Popen(
                ["sh", "-c", f"exec {command}"], cwd=self.home, env=self.environment, stdout=log, stderr=log
            )
        self.servers.append(server)
        wait_until(self.is_listening)

    def is_listening(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    async def run_call(self, agent: str, tool: str, arguments: dict[str, Any]) -> str:
        server = product.Product(self.servers[0], self.port)  # type: ignore[arg-type]
        headers = {WINDOW_HEADER: conversation_window("tutorial", agent)}
        body = json.dumps(arguments).encode()
        _, reply, _ = await asyncio.to_thread(server.request, "POST", f"/api/{tool}", body, headers)
        return reply.decode()


def matches_output(expected: str, printed: str) -> bool:
    """`…` stands for anything, and columns may be wider; without expected lines anything will do."""
    wanted, got = " ".join(expected.split()), " ".join(printed.split())
    pattern = ".*?".join(re.escape(part.strip()) for part in wanted.split("…"))
    return not wanted or re.fullmatch(pattern, got, re.DOTALL) is not None


def field_names(value: Any) -> Any:
    """The shape of a reply: its fields, without times, scores and other values of the day."""
    if isinstance(value, dict):
        return {name: field_names(item) for name, item in value.items()}
    return [field_names(item) for item in value] if isinstance(value, list) else type(value).__name__


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    person = Reader(tmp_path, port)
    yield person
    for server in person.servers:
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE_SECONDS)


async def test_tutorial_works_as_it_is_written(reader: Reader):
    runner = CallRunner(reader.run_call, lambda **_: None)
    for block in BLOCK.finditer(TUTORIAL.read_text()):
        if block[1] == "console":
            await asyncio.to_thread(reader.run_console, block[2])
            continue
        for step, reply in zip(parse_steps(block[2]), read_replies(block[2]), strict=True):
            shown = (await runner.show_step(step)).removeprefix(step.to_text())
            assert field_names(json.loads(shown)) == field_names(reply), f"{step.to_text()}\n{shown}"


def read_replies(block: str) -> list[Any]:
    """The replies that the page shows."""
    decoder, replies = json.JSONDecoder(), []
    for step in parse_steps(block):
        assert isinstance(step, DocumentedCall)
        _, _, after = block.partition(step.to_text())
        reply, length = decoder.raw_decode(after.lstrip())
        replies.append(reply)
        block = after.lstrip()[length:]
    return replies
