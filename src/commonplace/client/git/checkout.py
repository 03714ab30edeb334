"""The facts about a working tree that the gate decides from: who else is in it, what is changed and whose it is."""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from commonplace import window
from commonplace.client import project
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.git.git_program import run_git
from commonplace.client.hooks.working_tree import find_working_tree

_MAX_FILES = 1_000
_UNREPORTED_SECONDS = 60
"""A file that changed this long after the last reported edit was changed by something that reports nothing."""


class OtherSession(NamedTuple):
    """Another live session in this repository; `here` means in this working tree."""

    agent: str
    here: bool
    root: str
    branch: str


class ChangedFile(NamedTuple):
    """A file that differs from the last commit, and whose it is; no agent means that nobody reported it."""

    path: str
    is_tracked: bool = True
    agent: str = ""
    mine: bool = False
    live: bool = False
    at: str = ""

    @property
    def belongs_to_other(self) -> bool:
        return bool(self.agent) and not self.mine and self.live


class Checkout:
    """One working tree as a session sees it. Each fact is asked for once, and only when it is needed."""

    def __init__(self, hook_run: HookRun, root: str) -> None:
        self.hook_run, self.root = hook_run, root

    @cached_property
    def others(self) -> list[OtherSession]:
        return self.parse_others(report_checkout(self.hook_run, self.root))

    @property
    def others_here(self) -> list[OtherSession]:
        return [other for other in self.others if other.here]

    @cached_property
    def status(self) -> dict[str, bool]:
        """The changed files, and whether git tracks each."""
        return list_changed_files(self.root)

    @cached_property
    def changed(self) -> list[ChangedFile]:
        """The changed files with their owners."""
        status = self.status
        if not status:
            return []
        facts = report_checkout(self.hook_run, self.root, list(status)[:_MAX_FILES])
        owners = {owner["file"]: owner for owner in facts["files"]}
        return [
            parse_owner(owners.get(path, {"file": path}))._replace(is_tracked=tracked)
            for path, tracked in status.items()
        ]

    @staticmethod
    def has_changes(root: str) -> bool:
        return bool(list_changed_files(root))

    def list_changed_in(self, paths: Sequence[str] | None) -> list[ChangedFile]:
        """The changed files at or below these paths from the root, None for all; a lone session need not know."""
        if not self.others_here:
            return []
        if paths is None or "" in paths:
            return self.changed
        return [file for file in self.changed if is_covered(file.path, paths)]

    def is_unreported(self, file: ChangedFile) -> bool:
        """Whether it was changed long after its owner's edit, so that somebody else may have changed it."""
        try:
            changed_at = (Path(self.root) / file.path).stat().st_mtime
        except OSError:
            return False
        return (
            bool(file.at) and changed_at > datetime.fromisoformat(file.at).timestamp() + _UNREPORTED_SECONDS
        )

    @staticmethod
    def parse_others(facts: dict[str, Any]) -> list[OtherSession]:
        return [
            OtherSession(other["agent"], other["here"], other["root"], other["branch"])
            for other in facts["others"]
        ]


def is_covered(path: str, patterns: Iterable[str]) -> bool:
    from fnmatch import fnmatchcase  # few commands name files

    return any(
        path == pattern or path.startswith(f"{pattern.rstrip('/')}/") or fnmatchcase(path, pattern)
        for pattern in patterns
    )


def report_checkout(
    hook_run: HookRun,
    tree: str = "",
    files: Sequence[str] | None = None,
    *,
    is_moving: bool = False,
    shelved: Sequence[str] | None = None,
    only_asks: bool = False,
) -> dict[str, Any]:
    """Report where the session works; the answer is about `tree`, another working tree of the repository or its own."""
    own = hook_run.place
    head = read_head(own)
    arguments: dict[str, Any] = {
        "machine": window.machine_name(),
        "root": own,
        "repository": hook_run.tree.main or own,
        "branch": head.branch,
        "head": head.commit,
    }
    if tree and tree != own:
        arguments["tree"] = tree
    if files is not None:
        arguments["files"] = list(files)
    if shelved is not None:
        arguments["shelved"] = list(shelved)
    flags = {"is_moving": is_moving, "only_asks": only_asks}
    arguments |= {name: value for name, value in flags.items() if value}
    return hook_run.call_in_session("memory_report_checkout", **arguments)


def follow_to(hook_run: HookRun, folder: str) -> None:
    """The session now works in the working tree of this folder, if it is another one of its repository."""
    tree = find_working_tree(folder)
    if not tree.main or tree.main != hook_run.tree.main or tree.root == hook_run.place:
        return
    hook_run.state.save_place(tree.root)
    hook_run.state.save_head(*read_head(tree.root))
    report_checkout(hook_run)


def list_changed_files(root: str) -> dict[str, bool]:
    """Every file that differs from the last commit, from the root, and whether git tracks it."""
    # No lock on the index: another program may commit meanwhile.
    output = run_git(
        "--no-optional-locks", "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
        folder=root,
    )  # fmt: skip
    return {entry[3:]: not entry.startswith("??") for entry in output.split("\0") if len(entry) > 3}  # noqa: PLR2004 - two letters and a blank


def parse_owner(owner: dict[str, Any]) -> ChangedFile:
    return ChangedFile(
        str(owner["file"]),
        True,
        str(owner.get("agent", "")),
        bool(owner.get("mine")),
        bool(owner.get("live")),
        str(owner.get("at", "")),
    )


class Head(NamedTuple):
    branch: str
    commit: str


class HeadMove(NamedTuple):
    """One line of the log of HEAD."""

    before: str
    after: str
    who: str
    at: float
    action: str

    @property
    def clock_time(self) -> str:
        return time.strftime("%H:%M", time.localtime(self.at))


def read_head(root: str) -> Head:
    """What is checked out, from git's files: hooks look at it before every command."""
    moves = read_head_log(root)
    return Head(project.find_branch(root), moves[-1].after if moves else "")


def read_head_log(root: str, last_bytes: int = 4_096) -> list[HeadMove]:
    """The last moves of HEAD, oldest first; empty without a log."""
    folder = Path(root) / ".git"
    try:
        if folder.is_file():
            folder = Path(root) / folder.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        with (folder / "logs" / "HEAD").open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - last_bytes))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [move for line in lines if (move := _parse_move(line))]


def _parse_move(line: str) -> HeadMove | None:
    """`OLD NEW Name <mail> SECONDS ZONE<tab>action`; the first line of what was read may be cut."""
    who, tab, action = line.partition("\t")
    words = who.split(" ")
    if not tab or len(words) < 5 or len(words[0]) < 40 or not words[-2].isdecimal():  # noqa: PLR2004 - as above
        return None
    name = " ".join(words[2:-2]).partition(" <")[0]
    return HeadMove(words[0], words[1], name, float(words[-2]), action)
