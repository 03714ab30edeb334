"""Simulated agents: each sends its own kind of input to the real hook program, beside a real repository."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from agent_samples import EVENT_WORD, load_samples

import product
from commonplace import access
from commonplace.client import hook
from commonplace.client.companion import program
from patience import PATIENCE_SECONDS
from team import Team

both_stores = pytest.mark.parametrize("address", ["sqlite", "postgresql"], indirect=True)

_SESSION_VARIABLES = {"claude": "CLAUDE_CODE_SESSION_ID", "codex": "CODEX_SESSION_ID"}
_CONTEXT_FIELDS = ("context", "additional_context", "additionalContext")


@dataclass
class Done:
    """What a hook left behind."""

    code: int
    stdout: str
    stderr: str
    told: str = ""
    """What the hook told the model after it."""

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.stdout) if self.stdout.startswith("{") else {}

    @property
    def context(self) -> str:
        specific = self.body.get("hookSpecificOutput", {})
        own = next((self.body[name] for name in _CONTEXT_FIELDS if name in self.body), "")
        return specific.get("additionalContext", own)

    @property
    def command(self) -> str:
        """What the hook would rather have run."""
        return self.body.get("hookSpecificOutput", {}).get("updatedInput", {}).get("command", "")

    @property
    def denial(self) -> str:
        """Wherever this agent reads it; nothing if the edit may happen."""
        specific = self.body.get("hookSpecificOutput", self.body)
        if specific.get("permissionDecision") == "deny":
            return specific["permissionDecisionReason"]
        if self.body.get("permission") == "deny":
            return self.body["agent_message"]
        if self.body.get("decision") == "deny":
            return self.body["reason"]
        return self.body.get("denied", "") or (self.stderr if self.code == 2 else "")

    @property
    def session_id(self) -> str:
        return self.context.partition("for these tools: ")[2].partition("\n")[0]


@dataclass
class Agent:
    """A coding agent in a working tree."""

    tool: str
    cwd: Path
    environ: dict[str, str]
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    transcript: str = ""
    apart: bool = True
    """Whether its hooks are processes of their own, as they are outside of tests; else it is the same program, sooner."""
    launched: bool = False
    """Whether its hooks are the launcher, which hands the event to the companion, as `install` sets them up."""

    @property
    def name(self) -> str:
        """The name that the server gave it; known once a hook has started its session."""
        place = Path(self.environ["COMMONPLACE_HOME"]) / "hooks" / self.session / "session.json"
        return json.loads(place.read_bytes())["agent"]

    async def hook(self, payload: dict[str, Any] | bytes, **environ: str) -> Done:
        words = [self.tool]
        if isinstance(payload, dict) and EVENT_WORD in payload:
            words.append(payload[EVENT_WORD])
            payload = {name: value for name, value in payload.items() if name != EVENT_WORD}
        sent = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        if not self.apart:
            return await asyncio.to_thread(_run_here, words, self.environ | environ, sent)
        launcher = [sys.executable, "-ISE", hook.__file__, *words]
        command = launcher if self.launched else product.command("hook", *words)
        return await run(command, self.cwd, self.environ | environ, sent)

    async def start(self, **more: str) -> Done:
        return await self.hook(self.sends("session_start") | more)

    async def edit(self, *files: str | Path, **environ: str) -> Done:
        return await self.hook(self.sends("before_edit", *map(str, files)), **environ)

    async def edited(self, *files: str | Path) -> Done:
        return await self.hook(self.sends("after_edit", *map(str, files)))

    async def shell(self, line: str, **environ: str) -> Done:
        """What its hook answers before a command of its shell tool; nothing is run."""
        return await self.hook(load_samples()[self.tool].build_command(self, line), **environ)

    async def run_shell(self, line: str, *, agent_id: str = "", seconds: int = 60, **environ: str) -> Done:
        """As the agent program does: ask the hook, run what it answers in a real shell, and tell the hook the end."""
        sample, inside = load_samples()[self.tool], {"agent_id": agent_id} if agent_id else {}
        asked = await self.hook(sample.build_command(self, line) | inside)
        if asked.denial:
            return asked
        variable = _SESSION_VARIABLES.get(self.tool, "COMMONPLACE_AGENT_SESSION")
        own = {
            variable: self.session,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        done = await run(
            ["timeout", str(seconds), "bash", "-c", asked.command or line],
            self.cwd,
            self.environ | own | environ,
        )
        ended = sample.build_command(self, line) | {"hook_event_name": sample.EVENTS["after_edit"]} | inside
        done.told = (await self.hook(ended)).context
        return done

    async def write(self, file: str, text: str) -> Done:
        """Edit a file through its editing tool, if the hook lets it."""
        asked = await self.edit(self.cwd / file)
        if not asked.denial:
            path = self.cwd / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            await self.edited(self.cwd / file)
        return asked

    async def prompt(self, text: str, **environ: str) -> Done:
        return await self.hook(self.sends("prompt") | {"prompt": text}, **environ)

    async def end(self) -> Done:
        return await self.hook(self.sends("session_end"))

    async def commit(self, *flags: str) -> Done:
        mine = {"COMMONPLACE_AGENT_SESSION": self.session}
        return await run(["git", "commit", "-m", "work", *flags], self.cwd, self.environ | mine)

    def sends(self, kind: str, *files: str) -> dict[str, Any]:
        """The event in this agent's own words."""
        sample = load_samples()[self.tool]
        return sample.build_payload(self, sample.EVENTS[kind], files)

    def calls(self, tool: str, call_id: str, **more: object) -> dict[str, Any]:
        """It is about to call one of our tools."""
        sent = {"tool_name": f"mcp__commonplace__{tool}", "tool_use_id": call_id, "tool_input": {}}
        return self.sends("before_edit", "a.py") | sent | more

    @property
    def known(self) -> dict[str, Any]:
        return {"session_id": self.session, "transcript_path": self.transcript or None, "cwd": str(self.cwd)}


async def replace_text(agent: Agent, path: Path, old: str, new: str) -> Done:
    """Replace text through the agent's editing tool, if the hook lets it."""
    tool = {
        "tool_name": "Edit",
        "tool_input": {"file_path": str(path), "old_string": old, "new_string": new},
    }
    asked = await agent.hook(agent.sends("before_edit", str(path)) | tool)
    if not asked.denial:
        _replace_in_file(path, old, new)
        await agent.hook(agent.sends("after_edit", str(path)) | tool)
    return asked


def _replace_in_file(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def model_call(team: Team, call_id: str) -> Any:
    """A call of Claude's model as it arrives at the server over HTTP."""
    return team.anyone(replace(access.LOCAL, windows=(f"claude-call:{call_id}", "mcp:1")))


async def run(command: list[str], cwd: Path, environ: dict[str, str], sent: bytes = b"") -> Done:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=product.environment(**environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        stdout, stderr = await process.communicate(sent)
    assert process.returncode is not None
    return Done(process.returncode, stdout.decode().strip(), stderr.decode().strip())


def _run_here(words: list[str], environ: dict[str, str], sent: bytes) -> Done:
    with mock.patch.dict(os.environ, product.environment(**environ), clear=True):
        output = program.run(words[0], sent, *words[1:])
    return Done(output.code, output.stdout, output.stderr)


def repository(folder: Path, *files: str) -> Path:
    """With one commit that holds these files."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.com"), ("commit.gpgsign", "false")):
        git(folder, "config", name, value)
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a\n")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    return done.stdout.strip()
