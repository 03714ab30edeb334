"""What is asked of git itself."""

import subprocess
from pathlib import Path

_SECONDS = 10


class Failed(Exception):  # noqa: N818 - git's own answer
    """git said no."""


def ask(*words: str, folder: Path | None = None) -> str:
    """Without its final line end."""
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            ["git", *words],  # noqa: S607 - the user's own git
            cwd=folder,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as wrong:
        raise Failed(f"git does not answer ({wrong}).") from None
    if done.returncode:
        raise Failed(done.stderr.decode(errors="replace").strip() or f"git {words[0]} failed.")
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n")


def root() -> Path:
    return Path(ask("rev-parse", "--show-toplevel"))


def own_folder() -> Path:
    """Of this working tree: .git, or what stands for it in a linked one."""
    return Path(ask("rev-parse", "--absolute-git-dir"))


def hooks_folder() -> Path:
    """Where git looks for hooks: core.hooksPath, else beside the repository's other files."""
    return root() / ask("rev-parse", "--git-path", "hooks", folder=root())


def staged() -> list[str]:
    """The files that the commit changes; of a merge, those that are neither side's own."""
    names = _names("diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z")
    if (own_folder() / "MERGE_HEAD").exists():
        theirs = set(_names("diff", "--cached", "--name-only", "--no-renames", "-z", "MERGE_HEAD"))
        names = [name for name in names if name in theirs]
    return names


def committed() -> list[str]:
    words = ("diff-tree", "--no-commit-id", "--name-only", "--no-renames", "--root", "-r", "-z", "HEAD")
    return _names(*words)


def _names(*words: str) -> list[str]:
    return [name.encode(errors="replace").decode() for name in ask(*words).split("\0") if name]
