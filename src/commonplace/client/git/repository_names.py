"""Names in a git repository as the gate compares them: paths from the root, commits, folders for working trees."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from commonplace.client.git.checkout import Checkout
from commonplace.client.git.git_command import GitCommand
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.shell_words import Word, join_folder


def program_words() -> str:
    """How this program is called from a shell."""
    from shutil import which  # only refusals need it

    return "commonplace" if which("commonplace") else f"{shlex.quote(sys.executable)} -m commonplace"


def repository_path(checkout: Checkout, command: GitCommand, path: str) -> str:
    """The path from the root; empty for the root itself and for patterns with magic words."""
    if path.startswith(":"):
        return ""
    joined = Path(os.path.normpath(join_folder(command.cwd, path)))
    relative = os.path.relpath(joined.parent.resolve() / joined.name, checkout.root)
    return "" if relative == "." else relative


def split_operands(
    checkout: Checkout, command: GitCommand, operands: Sequence[Word]
) -> tuple[list[str], list[str]]:
    """Folders and patterns, which sweep, and files that are named."""
    folders: list[str] = []
    files: list[str] = []
    for operand in operands:
        if operand is None:  # the output of a command, say: it may name everything
            folders.append("")
            continue
        path = repository_path(checkout, command, operand)
        sweeps = (
            not path or any(letter in operand for letter in "*?[") or (Path(checkout.root) / path).is_dir()
        )
        (folders if sweeps else files).append(path)
    return folders, files


def list_staged(checkout: Checkout) -> list[str]:
    output = run_git("diff", "--cached", "--name-only", "--no-renames", "-z", folder=checkout.root)
    return [name for name in output.split("\0") if name]


def path_from_folder(checkout: Checkout, command: GitCommand, path: str) -> str:
    return os.path.relpath(Path(checkout.root) / path, os.path.realpath(command.cwd))


def path_exists(command: GitCommand, path: str) -> bool:
    return os.path.lexists(join_folder(command.cwd, path))


def resolve_commit(root: str, name: str) -> str:
    try:
        return run_git("rev-parse", "--verify", "-q", f"{name}^{{commit}}", folder=root)
    except GitFailed:
        return ""


def is_commit(root: str, name: str) -> bool:
    return name == "-" or bool(resolve_commit(root, name))


def suggest_worktree_folder(root: str, name: str) -> str:
    """A folder beside this one that does not exist yet."""
    base = f"../{Path(root).name}-{name.replace('/', '-').strip('-') or 'work'}"
    candidates = (base, *(f"{base}-{number}" for number in range(2, 100)))
    return next(folder for folder in candidates if not (Path(root) / folder).exists())
