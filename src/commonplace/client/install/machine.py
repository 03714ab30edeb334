"""The machine whose agents are set up: where things are on it and how this program is started there."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    home: Path
    folder: Path
    """The project that the command was given in."""
    program: tuple[str, ...]
    platform: str = sys.platform
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def windows(self) -> bool:
        return self.platform == "win32"

    def at(self, variable: str, default: Path) -> Path:
        """A folder that the environment may name."""
        named = self.environment.get(variable)
        return Path(named).expanduser() if named else default

    @property
    def configuration(self) -> Path:
        """Where programs keep what a user sets, on systems that follow XDG."""
        return self.at("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def roaming(self) -> Path:
        """Where programs with windows keep what a user sets."""
        if self.windows:
            return self.at("APPDATA", self.home / "AppData" / "Roaming")
        return (
            self.home / "Library" / "Application Support" if self.platform == "darwin" else self.configuration
        )

    def has(self, *programs: str) -> bool:
        return any(shutil.which(each, path=self.environment.get("PATH")) for each in programs)

    def hook_command(self, agent: str) -> str:
        """The command that an agent's hooks run, for a shell."""
        return self.shell((*self.program, "hook", agent))

    def shell(self, words: tuple[str, ...]) -> str:
        """Forward slashes and double quotes are read alike by cmd, PowerShell and the bash of git on Windows."""
        if not self.windows:
            return shlex.join(words)
        return " ".join(
            f'"{word}"' if " " in word else word for word in (w.replace("\\", "/") for w in words)
        )


def here() -> Machine:
    return Machine(Path.home(), _project(Path.cwd()), _program())


def _project(folder: Path) -> Path:
    """The root of the checkout that holds a folder, else the folder itself."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def _program() -> tuple[str, ...]:
    """The installed script, which stands beside its interpreter; else the interpreter with the package, never with
    one that lies where an agent happens to work.
    """
    interpreter = Path(sys.executable)
    for name in ("commonplace", "commonplace.exe"):
        if (interpreter.parent / name).is_file():
            return (str(interpreter.parent / name),)
    started = Path(sys.argv[0]).absolute()
    if started.stem == "commonplace" and started.is_file():
        return (str(started),)
    return (str(interpreter), "-P", "-m", "commonplace")
