"""`commonplace guard install` and `uninstall`: run the check before every commit in a git repository."""

import argparse
import contextlib
import os
import shlex
import sys
from pathlib import Path

from commonplace import errors
from commonplace.client.checkout import git_program as git
from commonplace.client.link import remote

_ACT_OF_HOOK = {"pre-commit": "check", "prepare-commit-msg": "", "post-commit": "committed"}
_FOLDERS_FILE = "git-hooks"
"""The folders of hooks that were set up without being asked for one by one."""
_KEPT_SUFFIX = ".before-commonplace"
_BEGIN_LINE = b"# >>> commonplace guard: `commonplace guard uninstall` takes these lines away"
_END_LINE = b"# <<< commonplace guard\n"
_SHELLS = (b"sh", b"bash", b"dash", b"zsh", b"ksh")
_OWN_SCRIPT_HEAD = b"#!/bin/sh\n# Made by commonplace guard.\n"
_SCRIPT_MODE = 0o755


def run(arguments: argparse.Namespace) -> int:
    if arguments.act == "install":
        install_guard()
        return 0
    folder = require_hooks_folder()
    for name in _ACT_OF_HOOK:
        uninstall_hook(folder, name)
    print(f"The guard was removed from {folder}")
    _delete_if_empty(folder)
    return 0


def install_guard() -> None:
    """Check every commit in the repository of the current folder."""
    folder = require_hooks_folder()
    for name in _ACT_OF_HOOK:
        install_hook(folder, name)
    print(f"The guard is installed in {folder}")
    if not _is_inside_repository(folder, git.worktree_root()):
        print("  core.hooksPath points there: every repository that uses this folder is guarded.")


def ensure_installed(root: str) -> None:
    """Install the hooks of a repository where agents work, unless its hooks are files that git tracks, or shared."""
    folder = git.find_hooks_folder(root)
    if is_installed(folder) or not _is_inside_repository(folder, Path(root)):
        return
    if not git.run_git("ls-files", "--", str(folder), folder=root):
        for name in _ACT_OF_HOOK:
            install_hook(folder, name)
        with (remote.client_home() / _FOLDERS_FILE).open("a", encoding="utf-8") as file:
            file.write(f"{folder}\n")


def uninstall_everywhere() -> None:
    """Take the hooks out of every repository in which agents had set them up."""
    path = remote.client_home() / _FOLDERS_FILE
    folders = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for folder in dict.fromkeys(folders):
        for name in _ACT_OF_HOOK:
            uninstall_hook(Path(folder), name)
    path.unlink(missing_ok=True)


def require_hooks_folder() -> Path:
    try:
        return git.find_hooks_folder()
    except git.GitFailed as failed:
        raise errors.NotFound(f"{failed}", hint="Run it inside a git repository.") from None


def find_unguarded_folder() -> Path | None:
    """The hooks folder of the current repository, if it has no guard; None outside of a repository."""
    try:
        folder = git.find_hooks_folder()
    except git.GitFailed:
        return None
    return None if is_installed(folder) else folder


def is_installed(folder: Path) -> bool:
    return all(
        _hook_exists(folder / name) and _BEGIN_LINE in (folder / name).read_bytes() for name in _ACT_OF_HOOK
    )


def _is_inside_repository(folder: Path, root: Path) -> bool:
    shared = root / git.run_git("rev-parse", "--git-common-dir", folder=root)
    return any(folder.resolve().is_relative_to(each.resolve()) for each in (root, shared))


def _delete_if_empty(folder: Path) -> None:
    """Delete a folder without hooks, which install may have made."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def install_hook(folder: Path, name: str) -> None:
    """Insert our lines at the top of an existing shell script; any other hook is renamed and called by ours."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    exists = _hook_exists(path)
    if exists and _is_editable_script(path, _strip_guard_lines(path.read_bytes())):
        first, _, rest = _strip_guard_lines(path.read_bytes()).partition(b"\n")
        path.write_bytes(first + b"\n" + _render_guard_lines(name) + rest)
        return
    if exists and _BEGIN_LINE not in path.read_bytes():
        path.replace(folder / f"{name}{_KEPT_SUFFIX}")
    path.write_bytes(_OWN_SCRIPT_HEAD + _render_guard_lines(name, chained=True))
    path.chmod(_SCRIPT_MODE)


def uninstall_hook(folder: Path, name: str) -> None:
    """Restore what was there before, to the byte."""
    path, original = folder / name, folder / f"{name}{_KEPT_SUFFIX}"
    if not _hook_exists(path) or _BEGIN_LINE not in (script := path.read_bytes()):
        return
    if (rest := _strip_guard_lines(script)) != _OWN_SCRIPT_HEAD:
        path.write_bytes(rest)
    elif _hook_exists(original):
        original.replace(path)
    else:
        path.unlink()


def _hook_exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _is_editable_script(path: Path, script: bytes) -> bool:
    """Whether it is a shell script that git runs. Links may lead to other people's files, and our own is rewritten."""
    if path.is_symlink() or not os.access(path, os.X_OK) or script == _OWN_SCRIPT_HEAD:
        return False
    first, line_end, _ = script.partition(b"\n")
    words = first.removeprefix(b"#!").replace(b"/usr/bin/env", b"").split()
    shell = words[0].rpartition(b"/")[2] if words and first.startswith(b"#!") else b""
    return bool(line_end) and shell in _SHELLS


def _strip_guard_lines(script: bytes) -> bytes:
    before, begin, rest = script.partition(_BEGIN_LINE)
    _, end, after = rest.partition(_END_LINE)
    return before + after if begin and end else script


def _render_guard_lines(name: str, *, chained: bool = False) -> bytes:
    """-P keeps Python from importing modules of the repository. $PPID is git, which runs both hooks."""
    if name == "prepare-commit-msg":
        return _join_lines(_TRAILER_LINES, chained=chained)
    python = shlex.quote(sys.executable)
    gone = shlex.quote(f"commonplace guard: {sys.executable} does not exist, nothing was checked")
    lines = [
        f"if [ -x {python} ]; then",
        f'  {python} -P -m commonplace guard {_ACT_OF_HOOK[name]} "$PPID" || exit $?',
        f"else echo {gone} >&2; fi",
    ]
    return _join_lines(lines, chained=chained)


# pre-commit leaves the name of the session for it.
_TRAILER_LINES = [
    'commonplace=$(git rev-parse --git-path commonplace-session) && if [ -s "$commonplace" ]; then',
    '  git interpret-trailers --in-place --if-exists doNothing --trailer "$(cat "$commonplace")" "$1"; rm -f "$commonplace"; fi',
]


def _join_lines(lines: list[str], *, chained: bool) -> bytes:
    if chained:
        lines = [*lines, f'[ ! -x "$0{_KEPT_SUFFIX}" ] || exec "$0{_KEPT_SUFFIX}" "$@"']
    return _BEGIN_LINE + b"\n" + "".join(f"{line}\n" for line in lines).encode() + _END_LINE
