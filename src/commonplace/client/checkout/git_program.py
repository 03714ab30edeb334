"""Runs git beside a working tree, without the variables by which an outer git names its own index and folders."""

import os
from collections.abc import Mapping
from pathlib import Path

_TIMEOUT_SECONDS = 10
_LOCATIONS = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_LITERAL_PATHSPECS", "GIT_QUARANTINE_PATH",
)  # fmt: skip


class GitFailed(Exception):
    """git failed."""


def run_git(*words: str, folder: str | Path | None = None, given: bytes = b"") -> str:
    """The output of a git command without its last line end, in the environment that it would have in a shell."""
    code, output, errors = _run(words, folder, given, os.environ)
    if code:
        raise GitFailed(errors.decode(errors="replace").strip() or f"git {words[0]} failed.")
    return output.decode(errors="surrogateescape").removesuffix("\n")


def ask_git(*words: str, folder: str | Path | None = None) -> tuple[int, str]:
    """The exit code of a git command that answers with it, and its output."""
    code, output, _ = _run(words, folder, b"", os.environ)
    return code, output.decode(errors="surrogateescape")


def run_git_bytes(
    *words: str, folder: str, given: bytes = b"", environ: Mapping[str, str] | None = None
) -> bytes:
    """The output of a git command in exactly this folder, also from inside of a hook of git."""
    inherited = {name: value for name, value in os.environ.items() if name not in _LOCATIONS}
    code, output, errors = _run(words, folder, given, inherited | dict(environ or {}))
    if code:
        raise GitFailed(errors.decode(errors="replace").strip() or "git failed.")
    return output


def _run(
    words: tuple[str, ...], folder: str | Path | None, given: bytes, environ: Mapping[str, str]
) -> tuple[int, bytes, bytes]:
    import subprocess  # most hooks run no program

    try:
        completed = subprocess.run(
            ["git", *words],  # noqa: S607 - the user's own git
            cwd=folder,
            input=given,
            env=environ,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(f"git could not be run ({error}).") from None
    return completed.returncode, completed.stdout, completed.stderr


def worktree_root(folder: str | Path | None = None) -> Path:
    return Path(run_git("rev-parse", "--show-toplevel", folder=folder))


def find_hooks_folder(folder: str | Path | None = None) -> Path:
    """Where git looks for hooks: core.hooksPath, else the repository's `hooks`."""
    root = worktree_root(folder)
    return root / run_git("rev-parse", "--git-path", "hooks", folder=root)
