"""A program in a terminal that nobody looks at: tmux draws its screen, takes keys, and can show both to a test."""

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from patience import PATIENCE_SECONDS, wait_until

SCREEN_COLUMNS, SCREEN_LINES = 160, 50
_SECONDS_BETWEEN_PRESSES = 3


class Terminal:
    def __init__(self, folder: Path, command: list[str], cwd: Path, environment: Mapping[str, str]) -> None:
        self._socket = folder / "tmux.socket"
        self._environment = {**environment, "TERM": "xterm-256color"}
        size = ["-x", str(SCREEN_COLUMNS), "-y", str(SCREEN_LINES)]
        self._run_tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", str(cwd), *command)

    @staticmethod
    def is_available() -> bool:
        return shutil.which("tmux") is not None

    def submit(self, text: str, is_done: Callable[[], bool]) -> None:
        """Type a line, and press Enter until it has its effect: the first one may choose a suggestion."""
        self._run_tmux("send-keys", "-l", text)
        self.wait_for(text)
        last_press = 0.0

        def press_again() -> bool:
            nonlocal last_press
            if is_done():
                return True
            if time.monotonic() - last_press > _SECONDS_BETWEEN_PRESSES:
                self._run_tmux("send-keys", "Enter")
                last_press = time.monotonic()
            return False

        self._wait_until(press_again, f"no effect of {text!r}")

    def read_screen(self) -> str:
        return self._run_tmux("capture-pane", "-p")

    def shows(self, text: str) -> bool:
        return text in self.read_screen()

    def wait_for(self, text: str) -> None:
        self._wait_until(lambda: self.shows(text), f"the screen does not show {text!r}")

    def _wait_until(self, holds: Callable[[], bool], fault: str) -> None:
        try:
            wait_until(holds)
        except TimeoutError as late:
            raise TimeoutError(f"{fault}:\n{self.read_screen() if self.is_open() else ''}") from late

    def is_open(self) -> bool:
        words = ["tmux", "-S", str(self._socket), "has-session"]
        return (
            subprocess.run(words, capture_output=True, check=False, timeout=PATIENCE_SECONDS).returncode == 0
        )

    def close(self) -> None:
        """Close the terminal as its user would: the program gets a hang-up."""
        if self.is_open():
            self._run_tmux("kill-server")

    def _run_tmux(self, *words: str) -> str:
        completed = subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=True,
        )
        return completed.stdout
