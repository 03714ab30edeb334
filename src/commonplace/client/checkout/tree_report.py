"""What the server knows of working trees: where a session works, and who else works in the same repository."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commonplace import window
from commonplace.client.checkout.checkout import Checkout
from commonplace.client.checkout.git_program import GitFailed, run_git
from commonplace.client.checkout.head_log import read_head
from commonplace.client.checkout.shelves import list_shelves
from commonplace.client.checkout.working_tree import find_working_tree
from commonplace.client.companion.hook_run import HookRun

_MAX_FILES = 1_000
_MAX_SHELVES = 100


class OtherSession(NamedTuple):
    """Another live session in this repository; `here` means in this working tree."""

    agent: str
    here: bool
    root: str
    branch: str


def report_checkout(
    hook_run: HookRun,
    *,
    files: Sequence[str] | None = None,
    shelved: Sequence[str] | None = None,
    is_moving: bool = False,
) -> dict[str, Any]:
    """Report where the session works, and what is changed and shelved there if that is given."""
    own = hook_run.place
    head = read_head(own)
    arguments: dict[str, Any] = {
        "machine": window.machine_name(),
        "root": own,
        "repository": hook_run.tree.main or own,
        "branch": head.branch,
        "head": head.commit,
    }
    if files is not None:
        arguments["files"] = list(files)
    if shelved is not None:
        arguments["shelved"] = list(shelved)
    if is_moving:
        arguments["is_moving"] = True
    return hook_run.call_in_session("memory_report_checkout", **arguments)


def list_others(hook_run: HookRun) -> list[OtherSession]:
    return [
        OtherSession(other["agent"], other["here"], other["root"], other["branch"])
        for other in report_checkout(hook_run)["others"]
    ]


def follow_to(hook_run: HookRun, folder: str) -> None:
    """The session now works in the working tree of this folder, if it is another one of its repository.

    A sub-agent that was given a working tree of its own does not move its parent's place.
    """
    tree = find_working_tree(folder)
    is_elsewhere = tree.main == hook_run.tree.main and tree.root != hook_run.place
    if not tree.main or not is_elsewhere or hook_run.event.subagent:
        return
    hook_run.state.save_place(tree.root)
    hook_run.state.save_head(*read_head(tree.root))
    report_checkout(hook_run)


def report_changes(hook_run: HookRun) -> None:
    """Report what is changed and shelved here, before the model asks for it."""
    try:
        checkout = Checkout.open(hook_run.place) if hook_run.tree.main else None
        if checkout is not None:
            files = list_changed_files(hook_run.place)[:_MAX_FILES]
            names = [
                f"{shelf.number} of {shelf.agent}: {shelf.what}"[:300] for shelf in list_shelves(checkout)
            ]
            report_checkout(hook_run, files=files, shelved=names[:_MAX_SHELVES])
    except GitFailed:
        return


def list_changed_files(root: str) -> list[str]:
    """Every file that differs from the last commit, from the root."""
    # No lock on the index: another program may commit meanwhile.
    words = ("--no-optional-locks", "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    output = run_git(*words, folder=Path(root))
    return [entry[3:] for entry in output.split("\0") if len(entry) > 3]  # noqa: PLR2004 - two letters and a blank
