"""Rescue refs: before a command that destroys changes, they are kept under refs/commonplace/rescue/ for 14 days."""

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from commonplace.client.git import snapshots
from commonplace.client.git.git_program import GitFailed, run_git

PREFIX = "refs/commonplace/rescue/"
KEPT_DAYS = 14
_MAX_IGNORED_FILES = 2_000
_MAX_IGNORED_BYTES = 32 * 1024 * 1024


class Rescue(NamedTuple):
    name: str
    commit: str
    at: float
    what: str


def make_rescue(root: str, what: str, *, with_ignored: bool = False) -> str:
    """Keep what is changed in this working tree; return the name of the rescue."""
    delete_old_rescues(root)
    ignored = _list_ignored_files(root) if with_ignored else []
    return _keep_commit(root, snapshots.snapshot_tree(root, what, ignored))


def rescue_commits(root: str, commits: Sequence[str]) -> list[str]:
    """Keep commits that a command would make unreachable, such as those of a branch that it deletes."""
    delete_old_rescues(root)
    return [_keep_commit(root, commit) for commit in dict.fromkeys(commits)]


def list_rescues(root: str) -> list[Rescue]:
    """The newest first."""
    form = "%(refname)%00%(objectname)%00%(contents:subject)"
    lines = run_git("for-each-ref", "--sort=-refname", f"--format={form}", PREFIX, folder=root).splitlines()
    parts = [line.split("\0") for line in lines]
    return [
        Rescue(name.removeprefix(PREFIX), commit, _parse_time(name), what) for name, commit, what in parts
    ]


def restore_files(root: str, commit: str, files: Sequence[str] = ()) -> list[str]:
    """Write files of a rescue into the working tree: those given, else all that had been changed."""
    changes = snapshots.list_committed_changes(root, commit)
    wanted = list(files) or [file for file, letter in changes.items() if letter != "D"]
    if wanted:
        run_git(
            "--literal-pathspecs", "restore", f"--source={commit}", "--worktree", "--", *wanted, folder=root
        )
    return wanted


def delete_old_rescues(root: str) -> None:
    oldest = time.time() - KEPT_DAYS * 86_400
    for rescue in list_rescues(root):
        if rescue.at < oldest:
            run_git("update-ref", "-d", PREFIX + rescue.name, rescue.commit, folder=root)


def _keep_commit(root: str, commit: str) -> str:
    name = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    run_git("update-ref", PREFIX + name, commit, "", folder=root)
    return name


def _parse_time(name: str) -> float:
    """When the rescue was made, from its name: a commit that it keeps may be older."""
    text = name.removeprefix(PREFIX)
    try:
        return datetime.strptime(text, "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return time.time()


def _list_ignored_files(root: str) -> list[str]:
    """Files that git ignores, if they are few and small; a folder of dependencies can be installed again."""
    try:
        output = run_git("ls-files", "--others", "--ignored", "--exclude-standard", "-z", folder=root)
    except GitFailed:
        return []
    files = [file for file in output.split("\0") if file]
    sizes = (_file_size(Path(root) / file) for file in files)
    if len(files) > _MAX_IGNORED_FILES or sum(sizes) > _MAX_IGNORED_BYTES:
        return []
    return files


def _file_size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
