"""The machine whose agents are set up: its folders, and the command that starts this program."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.client import hook
from commonplace.client.program import find_program


@dataclass(frozen=True, slots=True)
class Machine:
    home: Path
    project_folder: Path
    """The project that the command was run in."""
    program: tuple[str, ...]
    platform: str = sys.platform
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    launcher: tuple[str, ...] = ()
    """What starts `client/hook.py` and imports nothing else; empty for `commonplace hook`, which is the same, slower."""

    @property
    def is_windows(self) -> bool:
        return self.platform == "win32"

    def environment_folder(self, variable: str, default: Path) -> Path:
        """The folder that a variable names, else the default."""
        named = self.environment.get(variable)
        return Path(named).expanduser() if named else default

    @property
    def config_folder(self) -> Path:
        """The XDG configuration folder."""
        return self.environment_folder("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def app_settings_folder(self) -> Path:
        """The folder of desktop applications' settings on this platform."""
        if self.is_windows:
            return self.environment_folder("APPDATA", self.home / "AppData" / "Roaming")
        return (
            self.home / "Library" / "Application Support" if self.platform == "darwin" else self.config_folder
        )

    def has_program(self, *programs: str) -> bool:
        return any(shutil.which(name, path=self.environment.get("PATH")) for name in programs)

    def hook_command(self, agent: str, event: str = "") -> str:
        """The shell command that an agent's hooks run: the launcher, or nothing once it was uninstalled.

        An interpreter that does not find its file exits with 2, which agents take for a denial.
        """
        words = (agent, event) if event else (agent,)
        if self.is_windows or not self.launcher:
            return self.shell_command((*self.program, "hook", *words))
        return f"if [ -f {shlex.quote(self.launcher[-1])} ]; then exec {shlex.join((*self.launcher, *words))}; fi"

    def shell_command(self, words: tuple[str, ...]) -> str:
        """On Windows with forward slashes and double quotes, which cmd, PowerShell and git's bash all accept."""
        if not self.is_windows:
            return shlex.join(words)
        return " ".join(
            f'"{word}"' if " " in word else word for word in (w.replace("\\", "/") for w in words)
        )


def this_machine() -> Machine:
    launcher = (sys.executable, "-ISE", hook.__file__)
    return Machine(Path.home(), _project_folder(Path.cwd()), find_program(), launcher=launcher)


def _project_folder(folder: Path) -> Path:
    """The root of the checkout that contains the folder, else the folder."""
    return next(
        (candidate for candidate in (folder, *folder.parents) if (candidate / ".git").exists()), folder
    )
