"""Runs git, and asks it for the root of a working tree, its hooks folder, and the files of a commit."""

import os
from pathlib import Path

_TIMEOUT_SECONDS = 10


class GitFailed(Exception):
    """git failed."""


def run_git(
    *words: str, folder: str | Path | None = None, given: bytes = b"", environ: dict[str, str] | None = None
) -> str:
    """The output of a git command without its last line end; `environ` is added to the environment."""
    code, output, errors = _run(words, folder, given, environ)
    if code:
        raise GitFailed(errors.decode(errors="replace").strip() or f"git {words[0]} failed.")
    return output.decode(errors="surrogateescape").removesuffix("\n")


def ask_git(*words: str, folder: str | Path | None = None) -> tuple[int, str]:
    """The exit code of a git command that answers with it, and its output."""
    code, output, _ = _run(words, folder, b"", None)
    return code, output.decode(errors="surrogateescape")


def _run(
    words: tuple[str, ...], folder: str | Path | None, given: bytes, environ: dict[str, str] | None
) -> tuple[int, bytes, bytes]:
    import subprocess  # most hooks run no program

    try:
        completed = subprocess.run(
            ["git", *words],  # noqa: S607 - the user's own git
            cwd=folder,
            input=given,
            env=os.environ | (environ or {}),
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(f"git could not be run ({error}).") from None
    return completed.returncode, completed.stdout, completed.stderr


def worktree_root() -> Path:
    return Path(run_git("rev-parse", "--show-toplevel"))


def git_folder() -> Path:
    """The git folder of this working tree; a linked one has its own."""
    return Path(run_git("rev-parse", "--absolute-git-dir"))


def find_hooks_folder() -> Path:
    """Where git looks for hooks: core.hooksPath, else the repository's `hooks`."""
    return worktree_root() / run_git("rev-parse", "--git-path", "hooks", folder=worktree_root())


def list_staged_files() -> list[str]:
    """The files that the commit changes; in a merge, those that differ from both sides."""
    names = _list_names("diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z")
    if (git_folder() / "MERGE_HEAD").exists():
        changed_from_merged = set(
            _list_names("diff", "--cached", "--name-only", "--no-renames", "-z", "MERGE_HEAD")
        )
        names = [name for name in names if name in changed_from_merged]
    return names


def list_committed_files() -> list[str]:
    words = ("diff-tree", "--no-commit-id", "--name-only", "--no-renames", "--root", "-r", "-z", "HEAD")
    return _list_names(*words)


def _list_names(*words: str) -> list[str]:
    return [name.encode(errors="replace").decode() for name in run_git(*words).split("\0") if name]
