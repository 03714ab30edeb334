"""commonplace guard install, uninstall: a check before every commit of a git repository."""

import argparse
import contextlib
import os
import shlex
import sys
from pathlib import Path

from commonplace import errors
from commonplace.client.guard import git

_ACTS = {"pre-commit": "check", "post-commit": "committed"}
_KEPT = ".before-commonplace"
_BEGIN = b"# >>> commonplace guard: `commonplace guard uninstall` takes these lines away"
_END = b"# <<< commonplace guard\n"
_SHELLS = (b"sh", b"bash", b"dash", b"zsh", b"ksh")
_MADE = b"#!/bin/sh\n# Made by commonplace guard.\n"
_RUNNABLE = 0o755


def run(arguments: argparse.Namespace) -> int:
    try:
        folder = git.hooks_folder()
    except git.Failed as failed:
        raise errors.NotFound(f"{failed}", hint="Run it inside a git repository.") from None
    for name in _ACTS:
        if arguments.act == "install":
            install(folder, name)
        else:
            uninstall(folder, name)
    if arguments.act == "install":
        print(f"The guard stands in {folder}")
        if not _is_of_this_repository(folder):
            print("  core.hooksPath leads there: every repository that uses this folder is guarded.")
    else:
        print(f"The guard is gone from {folder}")
        _remove_if_empty(folder)
    return 0


def _is_of_this_repository(folder: Path) -> bool:
    shared = git.root() / git.ask("rev-parse", "--git-common-dir", folder=git.root())
    places = (each.resolve() for each in (git.root(), shared))
    return any(folder.resolve().is_relative_to(each) for each in places)


def _remove_if_empty(folder: Path) -> None:
    """One that install made; to git a folder without hooks is as good as none."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def install(folder: Path, name: str) -> None:
    """Into a shell's script that is there, before its own lines; any other hook is kept beside ours and called."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / name
    present = _present(place)
    if present and _takes_lines(place, _without(place.read_bytes())):
        first, _, rest = _without(place.read_bytes()).partition(b"\n")
        place.write_bytes(first + b"\n" + _lines(name) + rest)
        return
    if present and _BEGIN not in place.read_bytes():
        place.replace(folder / f"{name}{_KEPT}")
    place.write_bytes(_MADE + _lines(name, chained=True))
    place.chmod(_RUNNABLE)


def uninstall(folder: Path, name: str) -> None:
    """What was there before is there again, to the byte."""
    place, kept = folder / name, folder / f"{name}{_KEPT}"
    if not _present(place) or _BEGIN not in (now := place.read_bytes()):
        return
    if (rest := _without(now)) != _MADE:
        place.write_bytes(rest)
    elif _present(kept):
        kept.replace(place)
    else:
        place.unlink()


def _present(place: Path) -> bool:
    return place.exists() or place.is_symlink()


def _takes_lines(place: Path, script: bytes) -> bool:
    """A script of a shell that git would run. One behind a link may be anybody's; one of ours is written anew."""
    if place.is_symlink() or not os.access(place, os.X_OK) or script == _MADE:
        return False
    first, line_end, _ = script.partition(b"\n")
    words = first.removeprefix(b"#!").replace(b"/usr/bin/env", b"").split()
    shell = words[0].rpartition(b"/")[2] if words and first.startswith(b"#!") else b""
    return bool(line_end) and shell in _SHELLS


def _without(script: bytes) -> bytes:
    before, begin, rest = script.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return before + after if begin and end else script


def _lines(name: str, *, chained: bool = False) -> bytes:
    """-P: what lies in the repository is not what Python should import. $PPID is git, which runs both hooks."""
    python = shlex.quote(sys.executable)
    gone = shlex.quote(f"commonplace guard: {sys.executable} is gone, nothing was checked")
    lines = [
        f"if [ -x {python} ]; then",
        f'  {python} -P -m commonplace guard {_ACTS[name]} "$PPID" || exit $?',
        f"else echo {gone} >&2; fi",
    ]
    if chained:
        lines.append(f'[ ! -x "$0{_KEPT}" ] || exec "$0{_KEPT}" "$@"')
    return _BEGIN + b"\n" + "".join(f"{line}\n" for line in lines).encode() + _END
