"""How this program is started: the command that lasts, for settings and services, and the one that a person can type.

`uvx` and `pipx run` start it from an environment that any cleaning of their cache removes. What such a run would write
into settings would stop working then, so `install` and `up` install it for good first (`make_lasting`).
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from commonplace import __version__, errors

DISTRIBUTION = "commonplace-mcp"
NAME = "commonplace"
_CACHE_FOLDERS = frozenset({"archive-v0", "builds-v0", "environments-v2"})
"""Folders of uv's cache that hold environments."""
_INSTALL_SECONDS = 600
_COMMAND = re.compile(rf"(?<![\w/.-]){NAME} (?=[a-z]+\b)")
_INSTALL_HINT = (
    f"Install it for good first: uv tool install {DISTRIBUTION}   (or: pipx install {DISTRIBUTION})"
)


def find_program() -> tuple[str, ...]:
    """The words that start this program and stay valid."""
    if is_temporary() and (lasting := find_lasting_script()):
        return (str(lasting),)
    if script := _find_own_script():
        return (str(script),)
    # -P: no module of the current folder is run.
    return (sys.executable, "-P", "-m", NAME)


def _find_own_script() -> Path | None:
    folder = Path(sys.executable).parent
    started = Path(sys.argv[0]).absolute()
    candidates = (folder / NAME, folder / f"{NAME}.exe", started if started.stem == NAME else folder / NAME)
    return next((script for script in candidates if script.is_file()), None)


def is_temporary(prefix: str = "") -> bool:
    """Does this run come from an environment that its cache may remove?"""
    parts = Path(prefix or sys.prefix).parts
    return not _CACHE_FOLDERS.isdisjoint(parts) or ("pipx" in parts and ".cache" in parts)


def find_lasting_script(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The script of an installation that lasts, in the folder for programs of this user or on PATH."""
    on_path = shutil.which(NAME, path=environment.get("PATH"))
    places = (programs_folder() / script_name(), Path(on_path) if on_path else programs_folder())
    return next((place for place in places if place.is_file() and starts_this_program(place)), None)


def make_lasting() -> None:
    """Install this version for good if it runs from a cache; a refusal if no installer is there."""
    if not is_temporary() or find_lasting_script():
        return
    source = _read_source()
    installer = os.environ.get("UV") or shutil.which("uv")
    words = [installer, "tool", "install", "--force", source] if installer else []
    if not words and (pipx := shutil.which("pipx")):
        words = [pipx, "install", "--force", source]
    if not words:
        raise errors.Invalid(
            "This program runs from a cache that may be cleaned, so settings cannot name it.",
            hint=_INSTALL_HINT,
        )
    done = subprocess.run(words, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    if done.returncode or not find_lasting_script():
        reason = (done.stderr.strip().splitlines() or ["it is not on PATH afterwards"])[-1]
        raise errors.Unavailable(f"It could not be installed for good: {reason}", hint=_INSTALL_HINT)


def _read_source() -> str:
    """What installs this version again: the address that it was installed from, else its name and version."""
    try:
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        text = None
    return str(json.loads(text)["url"]) if text else f"{DISTRIBUTION}=={__version__}"


def programs_folder() -> Path:
    """Where programs of one user are: systemd, uv and pipx use the same."""
    return Path(os.environ.get("XDG_BIN_HOME") or "~/.local/bin").expanduser()


def script_name() -> str:
    return f"{NAME}.cmd" if sys.platform == "win32" else NAME


def render_shim(program: tuple[str, ...]) -> str:
    """A script that starts this program, for a folder that is on PATH."""
    if sys.platform == "win32":
        return f"@echo off\r\n{subprocess.list2cmdline(program)} %*\r\n"
    return f'#!/bin/sh\n# commonplace.__main__\nexec {shlex.join(program)} "$@"\n'


def starts_this_program(script: Path) -> bool:
    """Whether a script starts this program, and not another one of that name."""
    try:
        text = script.read_bytes()[:4096]
    except OSError:
        return False
    return b"commonplace.__main__" in text or script.resolve() == _find_own_script()


def needs_shim() -> bool:
    """Whether a shell would not find this program, and no other program of its name is in the way."""
    shim = programs_folder() / script_name()
    return find_lasting_script() is None and shutil.which(NAME) is None and not shim.exists()


def name_program() -> str:
    """What a person types here to start this program."""
    lasting = find_lasting_script()
    if lasting and shutil.which(NAME) and Path(str(shutil.which(NAME))).resolve() == lasting.resolve():
        return NAME
    if lasting:
        return shlex.quote(str(lasting))
    words = find_program()
    script, folder = Path(words[0]), Path.cwd()
    if len(words) == 1 and script.is_relative_to(folder):
        return shlex.quote(str(script.relative_to(folder)))
    return shlex.join(words)


def spell_commands(text: str) -> str:
    """The text with each `commonplace VERB` as it can be typed on this machine."""
    if f"{NAME} " not in text:
        return text
    name = name_program()
    return text if name == NAME else _COMMAND.sub(f"{name} ", text)
