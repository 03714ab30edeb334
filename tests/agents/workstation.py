"""A person's machine: a home folder, a git repository, `commonplace` commands, and windows of agent programs."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from model_dialects import ModelRequest
from programs import DrivenProgram, ProgramWindow, TerminalUse, program_path
from scripted_model import SUMMARY_TEXT, ModelWindow, ScriptedModel, ScriptStep
from terminal import Terminal

from patience import PATIENCE_SECONDS, wait_until

PROGRAM_PATIENCE_SECONDS = 4 * PATIENCE_SECONDS
BOOT_PHRASE = "Your session is already started"


class WindowRequests:
    """What reached the model of a window."""

    model: ModelWindow

    @property
    def last_request(self) -> ModelRequest:
        return self.model.requests[-1]

    @property
    def prompt_text(self) -> str:
        """What the model read last, but for its own words and results."""
        return "\n".join(self.last_request.prompts)

    @property
    def reads_summary(self) -> bool:
        """Whether the conversation was compacted."""
        return SUMMARY_TEXT in json.dumps(self.last_request.body)

    def list_boot_pack_counts(self) -> list[int]:
        """How often the boot pack of the hooks stands in each request."""
        return [sum(text.count(BOOT_PHRASE) for text in request.prompts) for request in self.model.requests]


@dataclass
class TerminalWindow(WindowRequests):
    """A program in a terminal, used by a person who types."""

    terminal: Terminal
    model: ModelWindow
    use: TerminalUse

    def type_prompt(self, text: str, answer: str) -> None:
        """Type a prompt and wait until the program shows the model's answer."""
        self.terminal.submit(text, lambda: self.terminal.shows(answer))

    def compact(self) -> None:
        self.terminal.wait_for(self.use.turn_over_text)
        self.terminal.submit(self.use.compact_line, lambda: self.terminal.shows(self.use.compacted_text))

    def quit(self) -> None:
        self.terminal.submit(self.use.quit_line, lambda: not self.terminal.is_open())


@dataclass
class RunningWindow(WindowRequests):
    """A process of an agent program, and the model behind it."""

    process: subprocess.Popen[bytes]
    model: ModelWindow
    output: Path

    def wait(self) -> "RunningWindow":
        """Wait until the program ends by itself, and require that it was content."""
        code = self.process.wait(PROGRAM_PATIENCE_SECONDS)
        assert code == 0, self.read_output()
        return self

    def wait_until_held(self) -> None:
        """Wait until the model has reached a Hold."""
        assert self.model.held.wait(PROGRAM_PATIENCE_SECONDS), self.read_output()

    def read_output(self) -> str:
        return self.output.read_text(errors="replace")

    def end(self) -> None:
        """End the program and everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)


@dataclass
class Workstation:
    root: Path
    server_url: str
    scripted_model: ScriptedModel
    key: str = ""
    hook_settings: dict[str, str] = field(default_factory=dict)
    """Settings of the hooks that differ from the defaults, by the end of their variable."""
    command: Sequence[str] = (str(Path(sys.executable).with_name("commonplace")),)
    """The `commonplace` that the person runs."""
    windows: list[RunningWindow] = field(default_factory=list)
    terminals: list[Terminal] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def repository(self) -> Path:
        return self.root / "webstore"

    @property
    def cart(self) -> Path:
        return self.repository / "src" / "cart.py"

    @property
    def price(self) -> Path:
        return self.repository / "src" / "price.py"

    def create(self) -> None:
        self.home.mkdir(parents=True)
        (self.repository / "src").mkdir(parents=True)
        self.cart.write_text("total = 0\n")
        self.price.write_text("price = 1\n")
        for words in (
            ["init", "-q", "-b", "main"],
            [
                "config",
                "user.name",
                "Ann",
            ],  # not for the whole home: Gemini CLI runs git without its settings
            ["config", "user.email", "ann@example.com"],
            ["add", "--all"],
            ["commit", "-q", "-m", "first"],
        ):
            self.git(*words)

    def git(self, *words: str) -> str:
        """What git prints in the repository; the person runs it, not an agent."""
        completed = subprocess.run(
            ["git", *words],
            cwd=self.repository,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=PATIENCE_SECONDS,
        )
        return completed.stdout

    @property
    def environment(self) -> dict[str, str]:
        """A clean one: nothing of the developer's own programs or settings."""
        return program_path() | {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COMMONPLACE_HOOKS_SECONDS": str(PATIENCE_SECONDS),
            **{f"COMMONPLACE_HOOKS_{name}": value for name, value in self.hook_settings.items()},
        }

    def commonplace(self, *words: str) -> str:
        """Give a command as the person would; it must succeed."""
        completed = self._run_commonplace(*words)
        assert completed.returncode == 0, completed.stdout + completed.stderr
        return completed.stdout

    def sync(self) -> None:
        """Upload all transcripts; the upload that the last hook started may still run."""
        wait_until(lambda: self._run_commonplace("sync").returncode == 0)

    def _run_commonplace(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *words],
            cwd=self.repository,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def install(self, *programs: DrivenProgram, toolsets: str = "") -> str:
        for program in programs:
            self.write_settings(program)
        names = [program.name for program in programs]
        flags = ["--url", self.server_url, *(["--key", self.key] if self.key else [])]
        flags += ["--toolsets", toolsets] if toolsets else []
        return self.commonplace("install", "--agent", *names, "--yes", "--no-schedule", *flags)

    def write_settings(self, program: DrivenProgram) -> None:
        """What the person had configured before; once."""
        for place, text in program.settings.items():
            path = self.home / place
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace("REPOSITORY", str(self.repository)))

    def open(
        self, program: DrivenProgram, name: str, *steps: ScriptStep, prompt: str = "Work on the cart."
    ) -> RunningWindow:
        """Start a program without waiting for it."""
        model = self.scripted_model.script(name, *steps)
        model.is_aside = program.is_aside
        window = ProgramWindow(self.scripted_model.url(name), prompt)
        output = self.root / f"{name}.out"
        with output.open("wb") as file:
            process = subprocess.Popen(
                [str(program.path), *program.command(window)],
                cwd=self.repository,
                env=self.environment | program.environment(window),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        running = RunningWindow(process, model, output)
        self.windows.append(running)
        return running

    def open_terminal(self, program: DrivenProgram, name: str, *steps: ScriptStep) -> TerminalWindow:
        """Start a program as a person does, and wait until it asks for a prompt."""
        assert program.terminal is not None
        model = self.scripted_model.script(name, *steps)
        model.is_aside = program.is_aside
        window = ProgramWindow(self.scripted_model.url(name), "")
        command = [str(program.path), *program.terminal.command(window)]
        terminal = Terminal(
            self.root, command, self.repository, self.environment | program.environment(window)
        )
        self.terminals.append(terminal)
        terminal.wait_for(program.terminal.ready_text)
        return TerminalWindow(terminal, model, program.terminal)

    def run(
        self, program: DrivenProgram, name: str, *steps: ScriptStep, prompt: str = "Work on the cart."
    ) -> RunningWindow:
        return self.open(program, name, *steps, prompt=prompt).wait()

    def snapshot(self) -> Iterator[tuple[str, bytes]]:
        """Every file of the home folder but for those of `commonplace` itself."""
        for path in sorted(self.home.rglob("*")):
            if path.is_file() and ".commonplace" not in path.parts:
                yield str(path.relative_to(self.home)), path.read_bytes()

    def close(self) -> None:
        for terminal in self.terminals:
            terminal.close()
        for window in self.windows:
            window.end()
        for process in self.list_processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def list_processes(self) -> list[psutil.Process]:
        """What programs and hooks have started and left behind: it has this home folder in its environment."""
        return [process for process in psutil.process_iter() if _read_home(process) == str(self.home)]


def _read_home(process: psutil.Process) -> str:
    try:
        return process.environ().get("HOME", "")
    except psutil.Error:
        return ""
