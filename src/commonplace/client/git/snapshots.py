"""Keeps changes of a working tree as a commit that no branch contains: only objects are written, no file is touched."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from commonplace.client.git.git_program import GitFailed, run_git

_IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "Commonplace"), ("EMAIL", "commonplace@localhost"))
}
_MAX_NAMES_PER_CALL = 500


def snapshot_tree(root: str, message: str, more_files: Sequence[str] = ()) -> str:
    """Commit everything that is changed, untracked files included, and `more_files`, which git ignores.

    The parents are HEAD and, as in a stash, a commit of what is staged.
    """
    with _temporary_index(root, is_copied=True) as index:
        environ = _IDENTITY | {"GIT_INDEX_FILE": index}
        parents = _list_parents(root)
        staged = _write_tree(root, environ)
        _add_files(root, environ, ["."], "--ignore-errors")
        for first in range(0, len(more_files), _MAX_NAMES_PER_CALL):
            _add_files(root, environ, more_files[first : first + _MAX_NAMES_PER_CALL], "--force")
        if staged:
            words = [word for parent in parents for word in ("-p", parent)]
            parents.append(
                run_git("commit-tree", staged, *words, "-m", "staged", folder=root, environ=environ)
            )
        return _commit_tree(root, _require_tree(root, environ), parents, message)


def snapshot_files(root: str, files: Sequence[str], message: str) -> str:
    """Commit these files as they are now, on top of HEAD; nothing else of the working tree."""
    with _temporary_index(root, is_copied=False) as index:
        environ = {"GIT_INDEX_FILE": index}
        parents = _list_parents(root)
        if parents:
            run_git("read-tree", "HEAD", folder=root, environ=environ)
        for first in range(0, len(files), _MAX_NAMES_PER_CALL):
            run_git(
                "--literal-pathspecs", "add", "--all", "--force", "--",
                *files[first : first + _MAX_NAMES_PER_CALL],
                folder=root, environ=environ,
            )  # fmt: skip
        return _commit_tree(root, _require_tree(root, environ), parents, message)


class _temporary_index:  # noqa: N801 - used as a function
    def __init__(self, root: str, *, is_copied: bool) -> None:
        self._root, self._is_copied = root, is_copied

    def __enter__(self) -> str:
        self._folder = tempfile.TemporaryDirectory(prefix="commonplace-")
        index = Path(self._folder.name) / "index"
        own = Path(self._root) / run_git("rev-parse", "--git-path", "index", folder=self._root)
        if self._is_copied and own.exists():
            index.write_bytes(own.read_bytes())
        return str(index)

    def __exit__(self, *_error: object) -> None:
        self._folder.cleanup()


def _list_parents(root: str) -> list[str]:
    try:
        return [run_git("rev-parse", "--verify", "-q", "HEAD", folder=root)]
    except GitFailed:
        return []


def _add_files(root: str, environ: dict[str, str], files: Sequence[str], flag: str) -> None:
    """A file that cannot be read is left out; the others are worth keeping."""
    try:
        run_git("add", "--all", flag, "--", *files, folder=root, environ=environ)
    except GitFailed:
        return


def _write_tree(root: str, environ: dict[str, str]) -> str:
    """The tree of what is staged; empty in the middle of a merge with conflicts, which cannot be written."""
    try:
        return run_git("write-tree", folder=root, environ=environ)
    except GitFailed:
        return ""


def _require_tree(root: str, environ: dict[str, str]) -> str:
    return run_git("write-tree", folder=root, environ=environ)


def _commit_tree(root: str, tree: str, parents: Sequence[str], message: str) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    return run_git("commit-tree", tree, *words, "-m", message, folder=root, environ=_IDENTITY)


def list_committed_changes(root: str, commit: str) -> dict[str, str]:
    """The files in which a snapshot differs from the commit that it was made on, with git's letter for each."""
    base = f"{commit}^1"
    try:
        run_git("rev-parse", "--verify", "-q", base, folder=root)
    except GitFailed:
        base = run_git("hash-object", "-t", "tree", os.devnull, folder=root)
    words = run_git(
        "diff-tree", "-r", "-z", "--name-status", "--no-renames", base, commit, folder=root
    ).split("\0")
    return {file: letter for letter, file in zip(words[::2], words[1::2], strict=False) if file}
