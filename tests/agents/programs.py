"""The agent programs that the tests drive: where npm puts each one, how it is started, how its model edits a file.

What each line of a command and an environment is for stands in the documentation of the programs: they send their
requests to the scripted model, ask nobody for permission, and neither update themselves nor report usage.
"""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from model_dialects import Call, ModelRequest

import nodejs
from patience import PATIENCE_SECONDS

HERE = Path(__file__).parent
BINARIES = HERE / "node_modules" / ".bin"
_PACKAGES_WITH_SCRIPTS = ("@anthropic-ai/claude-code", "opencode-ai")
"""Their scripts put the binary of this platform in its place; scripts of other packages do not run."""


class ProgramWindow(NamedTuple):
    """One window: the address of its model, and what the person types."""

    model_url: str
    prompt: str
    resumes: bool = False


class TerminalUse(NamedTuple):
    """How a person uses the program in a terminal."""

    command: Callable[[ProgramWindow], Sequence[str]]
    """What follows the name of the program."""
    ready_text: str
    """What the screen shows when it waits for a prompt."""
    compact_line: str
    compacted_text: str
    """What it shows after a compaction."""
    quit_line: str
    turn_over_text: str = ""
    """What it shows when it takes commands again after the first turn, if that is later than the model's answer."""


@dataclass(frozen=True, eq=False)
class DrivenProgram:
    name: str
    """As `commonplace install --agent` calls it."""
    binary: str
    command: Callable[[ProgramWindow], list[str]]
    """What follows the name of the program."""
    environment: Callable[[ProgramWindow], dict[str, str]]
    edit: Callable[[Path, str, str], list[Call]]
    """The model's calls that replace one line of a file."""
    shell: Callable[[str], Call]
    """The model's call that runs a command in the program's own shell tool."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Files that its user had before, by their path in the home folder; REPOSITORY stands for its path."""
    own_tool_prefix: str = ""
    """What stands before the name of a tool of ours, where the program does not offer every tool by name."""
    is_aside: Callable[[ModelRequest], bool] = lambda _request: False
    """Whether a request that offers tools belongs to no turn of the agent: the summary of a compaction, a title."""
    full_context_tokens: int = 0
    """After a reply of this size the program compacts by itself; 0 if it does so only between prompts."""
    terminal: TerminalUse | None = None
    start_subagent: Callable[[str], list[Call]] | None = None
    """The model's calls that start a sub-agent with a prompt, and wait for it."""

    def call(self, tool: str, **arguments: Any) -> Call:
        """The model calls a tool of ours."""
        return Call(self.own_tool_prefix + tool, arguments)

    @property
    def path(self) -> Path:
        return BINARIES / self.binary


@cache
def find_fault(program: DrivenProgram) -> str:
    """Why this program cannot run here; empty if it can."""
    if fault := _install_programs():
        return fault
    if not program.path.exists():
        return f"npm could not install {program.name}: run `npm install` in tests/agents to see why"
    words = [str(program.path), "--version"]
    try:
        completed = subprocess.run(
            words, env=program_path(), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program.name} does not start: {error}"
    return "" if completed.returncode == 0 else f"{program.name} does not start: {completed.stderr[-500:]}"


@cache
def _install_programs() -> str:
    """Install all programs; return what npm says if it cannot.

    Not `npm ci`: it refuses a lock file without the binaries of platforms that the registry does not have.
    """
    try:
        nodejs.install_packages(HERE, ("install", "--no-save"), [program.path for program in PROGRAMS])
        nodejs.run_npm(HERE, "rebuild", *_PACKAGES_WITH_SCRIPTS)
    except nodejs.NpmFailed as failed:
        return str(failed)[-2000:]
    return ""


def program_path() -> dict[str, str]:
    return {"PATH": f"{nodejs.NODE_FOLDER}:{BINARIES}:/usr/local/bin:/usr/bin:/bin"}


def _asks_for_summary(request: ModelRequest) -> bool:
    return "create a detailed summary of the conversation" in request.prompts[-1]


def _claude_command(window: ProgramWindow) -> list[str]:
    resume = ["--continue"] if window.resumes else []
    allowed = "mcp__commonplace,Edit,Write,Read,Agent,Bash"
    return [*resume, "-p", window.prompt, "--allowedTools", allowed, "--permission-mode", "acceptEdits"]


def _claude_environment(window: ProgramWindow) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": window.model_url,
        "ANTHROPIC_API_KEY": "sk-ant-test",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _claude_edit(file: Path, old: str, new: str) -> list[Call]:
    arguments = {"file_path": str(file), "old_string": old, "new_string": new}
    return [Call("Read", {"file_path": str(file)}), Call("Edit", arguments)]


def _claude_shell(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "Run it"})


def _codex_command(window: ProgramWindow) -> list[str]:
    approvals = "--dangerously-bypass-approvals-and-sandbox"
    return ["exec", *_codex_flags(window), "--json", "--skip-git-repo-check", approvals, window.prompt]


def _codex_terminal_command(window: ProgramWindow) -> list[str]:
    return [*_codex_flags(window), "--ask-for-approval", "on-request", "--sandbox", "workspace-write"]


def _codex_flags(window: ProgramWindow) -> list[str]:
    provider = {
        "name": "scripted",
        "base_url": f"{window.model_url}/v1",
        "wire_api": "responses",
        "env_key": "SCRIPTED_KEY",
        "supports_websockets": False,
    }
    settings = [f"model_providers.scripted.{name}={json.dumps(value)}" for name, value in provider.items()]
    settings += ['model_provider="scripted"', 'model="gpt-5.5"']
    return [word for setting in settings for word in ("-c", setting)] + ["--dangerously-bypass-hook-trust"]


def _asks_for_title(request: ModelRequest) -> bool:
    return "format" in request.body.get("text", {})


def _codex_environment(_window: ProgramWindow) -> dict[str, str]:
    return {"SCRIPTED_KEY": "x"}


def _codex_edit(file: Path, old: str, new: str) -> list[Call]:
    patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n-{old}\n+{new}\n*** End Patch\n"
    return [Call("apply_patch", patch)]


def _codex_shell(command: str) -> Call:
    return Call("exec_command", {"cmd": command})


def _codex_subagent(prompt: str) -> list[Call]:
    wait = Call("wait_agent", {"timeout_ms": 1000 * int(PATIENCE_SECONDS)})
    return [Call("spawn_agent", {"task_name": "cart", "message": prompt}), wait]


def _gemini_command(window: ProgramWindow) -> list[str]:
    return ["-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", window.prompt]


def _gemini_environment(window: ProgramWindow) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": "test",
        "GOOGLE_GEMINI_BASE_URL": window.model_url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
    }


def _gemini_edit(file: Path, old: str, new: str) -> list[Call]:
    return [
        Call(
            "replace",
            {
                "file_path": str(file),
                "old_string": old,
                "new_string": new,
                "instruction": "Replace the line as the task says.",
            },
        )
    ]


def _gemini_shell(command: str) -> Call:
    return Call("run_shell_command", {"command": command, "description": "Run it."})


def _opencode_command(window: ProgramWindow) -> list[str]:
    return ["run", "--model", "scripted/m", window.prompt]


def _opencode_environment(window: ProgramWindow) -> dict[str, str]:
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{window.model_url}/v1", "apiKey": "x"},
        "models": {"m": {"name": "m", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}},
    }
    settings = {
        "provider": {"scripted": provider},
        "model": "scripted/m",
        "permission": {"edit": "allow", "bash": "allow"},
    }
    return {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "npm_config_cache": str(HERE / "node_modules" / ".npm"),  # it installs a package in each new home
    }


def _opencode_edit(file: Path, old: str, new: str) -> list[Call]:
    arguments = {"filePath": str(file), "oldString": old, "newString": new}
    return [Call("read", {"filePath": str(file)}), Call("edit", arguments)]


def _opencode_shell(command: str) -> Call:
    return Call("bash", {"command": command, "description": "Run it"})


def _opencode_subagent(prompt: str) -> list[Call]:
    return [Call("task", {"description": "cart", "prompt": prompt, "subagent_type": "general"})]


def _copilot_command(window: ProgramWindow) -> list[str]:
    return ["--allow-all-tools", "--allow-all-paths", "-p", window.prompt]


def _copilot_environment(window: ProgramWindow) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{window.model_url}/v1",
        "COPILOT_PROVIDER_API_KEY": "x",
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_PROVIDER_MODEL_ID": "gpt-4.1",
    }


def _copilot_edit(file: Path, old: str, new: str) -> list[Call]:
    return [Call("edit", {"path": str(file), "old_str": old, "new_str": new})]


def _copilot_shell(command: str) -> Call:
    return Call("bash", {"command": command, "description": "Run it"})


def _copilot_subagent(prompt: str) -> list[Call]:
    arguments = {"name": "cart", "description": "cart", "agent_type": "general-purpose", "prompt": prompt}
    return [Call("task", arguments)]


_CLAUDE_STATE = {
    "hasCompletedOnboarding": True,
    "customApiKeyResponses": {"approved": ["sk-ant-test"], "rejected": []},
    "projects": {"REPOSITORY": {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
}

CLAUDE = DrivenProgram(
    "claude",
    "claude",
    _claude_command,
    _claude_environment,
    _claude_edit,
    _claude_shell,
    {".claude.json": json.dumps(_CLAUDE_STATE), ".claude/settings.json": '{"theme": "dark"}'},
    own_tool_prefix="mcp__commonplace__",
    is_aside=_asks_for_summary,
    full_context_tokens=990_000,
    terminal=TerminalUse(
        lambda _: ("--permission-mode", "acceptEdits", "--allowedTools", "mcp__commonplace,Edit,Read"),
        "accept edits on",
        "/compact",
        "Compacted",
        "/exit",
    ),
)
_CODEX_SETTINGS = """# mine
[features]
multi_agent_v2 = true
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
[projects."REPOSITORY"]
trust_level = "trusted"
"""
CODEX = DrivenProgram(
    "codex",
    "codex",
    _codex_command,
    _codex_environment,
    _codex_edit,
    _codex_shell,
    {".codex/config.toml": _CODEX_SETTINGS},
    own_tool_prefix="mcp__commonplace__",
    is_aside=_asks_for_title,
    full_context_tokens=260_000,
    terminal=TerminalUse(
        _codex_terminal_command,
        "Ask Codex to do anything",
        "/compact",
        "Context compacted",
        "/quit",
        "Worked for",
    ),
    start_subagent=_codex_subagent,
)
# After 30 calls in one turn it would ask the model whether it runs in a loop.
_GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "model": {"disableLoopDetection": True},
}
GEMINI = DrivenProgram(
    "gemini",
    "gemini",
    _gemini_command,
    _gemini_environment,
    _gemini_edit,
    _gemini_shell,
    {".gemini/settings.json": json.dumps(_GEMINI_SETTINGS)},
    terminal=TerminalUse(
        lambda _: ("-m", "gemini-2.5-pro", "--approval-mode", "yolo"),
        "Type your message",
        "/compress",
        "Chat history compressed",
        "/quit",
    ),
)
OPENCODE = DrivenProgram(
    "opencode",
    "opencode",
    _opencode_command,
    _opencode_environment,
    _opencode_edit,
    _opencode_shell,
    {".config/opencode/opencode.jsonc": '{\n  // mine\n  "share": "disabled"\n}\n'},
    full_context_tokens=199_000,
    start_subagent=_opencode_subagent,
)
COPILOT = DrivenProgram(
    "copilot",
    "copilot",
    _copilot_command,
    _copilot_environment,
    _copilot_edit,
    _copilot_shell,
    {".copilot/config.json": '{"trusted_folders": ["REPOSITORY"], "banner": "never"}\n'},
    is_aside=_asks_for_summary,
    terminal=TerminalUse(
        lambda _: ("--allow-all-tools", "--allow-all-paths"),
        "/ commands",
        "/compact",
        "Compaction completed",
        "/exit",
    ),
    start_subagent=_copilot_subagent,
)
PROGRAMS: Sequence[DrivenProgram] = (CLAUDE, CODEX, GEMINI, OPENCODE, COPILOT)
