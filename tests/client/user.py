"""A user's home folder, and the commands that are given in it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from commonplace.__main__ import main

_PLACES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "APPDATA", "COPILOT_HOME")

Snapshot = dict[str, tuple[bytes, int] | None]


class User:
    def __init__(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home, self.project, self.programs = home, home / "work" / "shop", home / "bin"
        self._environment, self._capsys = monkeypatch, capsys
        (self.project / ".git").mkdir(parents=True)
        self.programs.mkdir()
        for name in [*os.environ]:
            if name.startswith("COMMONPLACE_") or name in _PLACES:
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("PATH", str(self.programs))
        monkeypatch.chdir(self.project)

    def set(self, name: str, value: str) -> None:
        self._environment.setenv(name, value)

    def enters(self, folder: Path) -> None:
        self._environment.chdir(folder)

    def has(self, files: dict[str, bytes]) -> None:
        for name, content in files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def runs(self, *words: str) -> str:
        """What the command printed; it must have succeeded."""
        code, out, error = self.tries(*words)
        assert code == 0, error
        return out

    def tries(self, *words: str) -> tuple[int, str, str]:
        code = main(list(words))
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def reads(self, name: str) -> Any:
        return json.loads((self.home / name).read_bytes())

    def snapshot(self) -> Snapshot:
        """Every file with its mode and every folder, but for our own."""
        seen: Snapshot = {}
        for path in sorted(self.home.rglob("*")):
            name = str(path.relative_to(self.home))
            if not name.startswith(".commonplace"):
                seen[name] = (path.read_bytes(), path.stat().st_mode) if path.is_file() else None
        return seen
