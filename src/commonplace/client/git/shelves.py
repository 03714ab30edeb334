"""Shelves: an agent's own changes, put aside as a commit under refs/commonplace/<agent>/ and brought back later.

git has one stash for all working trees and everybody who uses them; a shelf belongs to one agent and holds only the
files that it names.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.client.git import snapshots
from commonplace.client.git.git_program import GitFailed, run_git

_PREFIX = "refs/commonplace/"
_NOT_IN_REFS = re.compile(r"[^\w-]+")
_RESERVED = ("rescue",)


class Shelf(NamedTuple):
    name: str
    """`<agent>/<number>`."""
    commit: str
    what: str


class ShelfInTheWay(Exception):
    """What is in the working tree now does not fit the shelved changes."""


def shelve_files(root: str, agent: str, files: Sequence[str], message: str) -> Shelf:
    """Put the changes of these files aside; the working tree then has the last commit's."""
    commit = snapshots.snapshot_files(root, files, message)
    shelf = Shelf(f"{_folder_of_agent(agent)}/{_next_number(root, agent)}", commit, message)
    run_git("update-ref", _PREFIX + shelf.name, commit, "", folder=root)
    _revert_files(root, files)
    return shelf


def unshelve(root: str, shelf: Shelf) -> list[str]:
    """Bring the changes back, all or nothing, and delete the shelf."""
    files = sorted(snapshots.list_committed_changes(root, shelf.commit))
    words = ("diff-tree", "-p", "--binary", "--full-index", "--no-renames", "-r")
    patch = run_git(*words, f"{shelf.commit}^1", shelf.commit, folder=root)
    if patch:
        try:
            run_git(
                "apply", "--binary", "--whitespace=nowarn", "-", folder=root,
                given=(patch + "\n").encode(errors="surrogateescape"),
            )  # fmt: skip
        except GitFailed as failed:
            raise ShelfInTheWay(str(failed)) from None
    run_git("update-ref", "-d", _PREFIX + shelf.name, shelf.commit, folder=root)
    return files


def list_shelves(root: str, agent: str = "") -> list[Shelf]:
    """The shelves of an agent, or of all, the newest first."""
    folder = f"{_PREFIX}{_folder_of_agent(agent)}/" if agent else _PREFIX
    form = "%(refname)%00%(objectname)%00%(contents:subject)"
    lines = run_git("for-each-ref", f"--format={form}", folder, folder=root).splitlines()
    shelves = [Shelf(name.removeprefix(_PREFIX), commit, what) for name, commit, what in map(_split, lines)]
    own = [shelf for shelf in shelves if shelf.name.partition("/")[0] not in _RESERVED]
    return sorted(own, key=lambda shelf: (shelf.name.rpartition("/")[0], -_number(shelf.name)))


def _split(line: str) -> list[str]:
    return line.split("\0")


def _folder_of_agent(agent: str) -> str:
    name = _NOT_IN_REFS.sub("-", agent).strip("-") or "agent"
    return f"{name}-agent" if name in _RESERVED else name


def _next_number(root: str, agent: str) -> int:
    return max((_number(shelf.name) for shelf in list_shelves(root, agent)), default=0) + 1


def _number(name: str) -> int:
    text = name.rpartition("/")[2]
    return int(text) if text.isdecimal() else 0


def _revert_files(root: str, files: Sequence[str]) -> None:
    """Give these files the last commit's content; a file that it does not have is deleted."""
    committed = set(
        run_git("--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", *files, folder=root)
        .split("\0")
    )  # fmt: skip
    kept = [file for file in files if file in committed]
    if kept:
        run_git(
            "--literal-pathspecs",
            "restore",
            "--source=HEAD",
            "--staged",
            "--worktree",
            "--",
            *kept,
            folder=root,
        )
    new = [file for file in files if file not in committed]
    if new:
        run_git("--literal-pathspecs", "rm", "-q", "--cached", "--ignore-unmatch", "--", *new, folder=root)
    for file in new:
        (Path(root) / file).unlink(missing_ok=True)
