"""What is asked of git itself."""

import subprocess
from pathlib import Path

_TIMEOUT_SECONDS = 10


class GitFailed(Exception):  # noqa: N818 - git's own answer
    """git said no."""


def run_git(*words: str, folder: Path | None = None) -> str:
    """Without its final line end."""
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            ["git", *words],  # noqa: S607 - the user's own git
            cwd=folder,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as wrong:
        raise GitFailed(f"git does not answer ({wrong}).") from None
    if done.returncode:
        raise GitFailed(done.stderr.decode(errors="replace").strip() or f"git {words[0]} failed.")
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n")


def worktree_root() -> Path:
    return Path(run_git("rev-parse", "--show-toplevel"))


def git_folder() -> Path:
    """Of this working tree: .git, or what stands for it in a linked one."""
    return Path(run_git("rev-parse", "--absolute-git-dir"))


def find_hooks_folder() -> Path:
    """Where git looks for hooks: core.hooksPath, else beside the repository's other files."""
    return worktree_root() / run_git("rev-parse", "--git-path", "hooks", folder=worktree_root())


def list_staged_files() -> list[str]:
    """The files that the commit changes; of a merge, those that are neither side's own."""
    names = _list_names("diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z")
    if (git_folder() / "MERGE_HEAD").exists():
        theirs = set(_list_names("diff", "--cached", "--name-only", "--no-renames", "-z", "MERGE_HEAD"))
        names = [name for name in names if name in theirs]
    return names


def list_committed_files() -> list[str]:
    words = ("diff-tree", "--no-commit-id", "--name-only", "--no-renames", "--root", "-r", "-z", "HEAD")
    return _list_names(*words)


def _list_names(*words: str) -> list[str]:
    return [name.encode(errors="replace").decode() for name in run_git(*words).split("\0") if name]
