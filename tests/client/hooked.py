"""Simulated agents: each sends its own kind of input to the real hook program, beside a real repository."""

import asyncio
import json
import os
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import product
from commonplace.client.hooks import program
from patience import PATIENCE_SECONDS

both_stores = pytest.mark.parametrize("address", ["sqlite", "postgresql"], indirect=True)


@dataclass
class Done:
    """What a hook left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.stdout) if self.stdout else {}

    @property
    def context(self) -> str:
        specific = self.body.get("hookSpecificOutput", {})
        own = self.body.get("context", self.body.get("additional_context", ""))
        return specific.get("additionalContext", own)

    @property
    def denial(self) -> str:
        """Wherever this agent reads it; nothing if the edit may happen."""
        specific = self.body.get("hookSpecificOutput", {})
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

    @property
    def name(self) -> str:
        return f"{self.tool}-{self.session[:8]}"

    async def hook(self, payload: dict[str, Any] | bytes, **environ: str) -> Done:
        sent = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        if not self.apart:
            return await asyncio.to_thread(_run_here, self.tool, self.environ | environ, sent)
        return await run(product.command("hook", self.tool), self.cwd, self.environ | environ, sent)

    async def start(self, **more: str) -> Done:
        return await self.hook(self.sends("session_start") | more)

    async def edit(self, *files: str | Path, **environ: str) -> Done:
        return await self.hook(self.sends("before_edit", *map(str, files)), **environ)

    async def edited(self, *files: str | Path) -> Done:
        return await self.hook(self.sends("after_edit", *map(str, files)))

    async def prompt(self, text: str, **environ: str) -> Done:
        return await self.hook(self.sends("prompt") | {"prompt": text}, **environ)

    async def end(self) -> Done:
        return await self.hook(self.sends("session_end"))

    async def commit(self, *flags: str) -> Done:
        mine = {"COMMONPLACE_AGENT_SESSION": self.session}
        return await run(["git", "commit", "-m", "work", *flags], self.cwd, self.environ | mine)

    def sends(self, kind: str, *files: str) -> dict[str, Any]:
        """The event in this agent's own words."""
        return SENDERS[self.tool](self, EVENTS[self.tool][kind], files)

    @property
    def known(self) -> dict[str, Any]:
        return {"session_id": self.session, "transcript_path": self.transcript or None, "cwd": str(self.cwd)}


def _as_claude(agent: Agent, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool = (
        {"tool_name": "Edit", "tool_use_id": "toolu_1", "tool_input": {"file_path": files[0]}}
        if files
        else {}
    )
    return agent.known | {"hook_event_name": name, "permission_mode": "default", "source": "startup"} | tool


def _as_codex(agent: Agent, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    changes = "".join(f"*** Update File: {file}\n@@\n-a\n+b\n" for file in files)
    patch = f"*** Begin Patch\n{changes}*** End Patch\n"
    tool = {"tool_name": "apply_patch", "tool_input": {"command": patch}, "turn_id": "1"} if files else {}
    return agent.known | {"hook_event_name": name, "model": "gpt-5", "source": "startup"} | tool


def _as_gemini(agent: Agent, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool = {"tool_name": "replace", "tool_input": {"file_path": files[0], "old_string": "a"}} if files else {}
    return (
        agent.known
        | {"hook_event_name": name, "timestamp": "2026-08-21T10:00:00Z", "source": "startup"}
        | tool
    )


def _as_cursor(agent: Agent, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    sent = {
        "conversation_id": agent.session, "generation_id": "g", "hook_event_name": name, "model": "m",
        "workspace_roots": [str(agent.cwd)], "cursor_version": "2.4", "transcript_path": agent.known["transcript_path"],
    }  # fmt: skip
    if not files:
        return sent
    if name == "afterFileEdit":
        return sent | {"file_path": files[0], "edits": [{"old_string": "a", "new_string": "b"}]}
    return sent | {"tool_name": "Write", "tool_input": json.dumps({"file_path": files[0], "content": "b"})}


def _as_vscode(agent: Agent, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool = {"tool_name": "replace_string_in_file", "tool_input": {"filePath": files[0]}} if files else {}
    return (
        agent.known | {"hook_event_name": name, "timestamp": "2026-08-21T10:00:00Z", "source": "new"} | tool
    )


def _as_windsurf(agent: Agent, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    told = {"file_path": files[0], "edits": [{"old_string": "a", "new_string": "b"}]} if files else {}
    return {"agent_action_name": name, "trajectory_id": agent.session, "execution_id": "e", "tool_info": told}


def _as_opencode(agent: Agent, name: str, files: tuple[str, ...]) -> dict[str, Any]:
    tool = {"tool_name": "edit", "tool_input": {"filePath": files[0]}} if files else {}
    return agent.known | {"hook_event_name": name} | tool


SENDERS = {
    "claude": _as_claude, "codex": _as_codex, "gemini": _as_gemini, "cursor": _as_cursor, "vscode": _as_vscode,
    "windsurf": _as_windsurf, "opencode": _as_opencode,
}  # fmt: skip

_CLAUDE = {
    "session_start": "SessionStart", "before_edit": "PreToolUse", "after_edit": "PostToolUse",
    "prompt": "UserPromptSubmit", "stop": "Stop", "before_compact": "PreCompact", "session_end": "SessionEnd",
}  # fmt: skip
EVENTS = {
    "claude": _CLAUDE,
    "codex": _CLAUDE,
    "vscode": {name: event for name, event in _CLAUDE.items() if name != "session_end"},
    "gemini": {
        "session_start": "SessionStart", "before_edit": "BeforeTool", "after_edit": "AfterTool",
        "prompt": "BeforeAgent", "stop": "AfterAgent", "before_compact": "PreCompress", "session_end": "SessionEnd",
    },
    "cursor": {
        "session_start": "sessionStart", "before_edit": "preToolUse", "after_edit": "afterFileEdit",
        "prompt": "beforeSubmitPrompt", "stop": "stop", "before_compact": "preCompact", "session_end": "sessionEnd",
    },
    "windsurf": {
        "before_edit": "pre_write_code", "after_edit": "post_write_code", "prompt": "pre_user_prompt",
        "stop": "post_cascade_response",
    },
    "opencode": {
        "session_start": "session.created", "before_edit": "tool.execute.before",
        "after_edit": "tool.execute.after", "prompt": "chat.message", "stop": "session.idle",
        "before_compact": "experimental.session.compacting", "session_end": "session.deleted",
    },
}  # fmt: skip


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


def _run_here(tool: str, environ: dict[str, str], sent: bytes) -> Done:
    with mock.patch.dict(os.environ, product.environment(**environ), clear=True):
        output = program.run(tool, sent)
    return Done(output.code, output.stdout, output.stderr)


def repository(folder: Path, *files: str) -> Path:
    """With one commit that holds these files."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.com"), ("commit.gpgsign", "false")):
        git(folder, "config", name, value)
    for file in files:
        place = folder / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("a\n")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    return done.stdout.strip()
