"""`commonplace guard check` and `guard committed`: what git runs before and after a commit.

Before it the index is filtered to the author's own lines and the rules on commits are asked; after it the index is put
right for the others, and a commit that ran without the first hook, as with `--no-verify`, is replaced by one of own
lines. A person's commit is left alone.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from commonplace.client.checkout.acting_author import (
    find_acting_run,
    find_committing_author,
    is_person,
)
from commonplace.client.checkout.checkout import Checkout, CommitPlan, LeftLines
from commonplace.client.checkout.shell_hooks import program_words, read_git_mode
from commonplace.client.companion import fault_log
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.project import find_repository
from commonplace.client.rules import guard_rules

SESSION_FILE = "commonplace-session"
"""Names the session for the trailer of the commit message."""
_MAX_FILES_NAMED = 5
_ALLOWS_EMPTY = ("--amend", "--allow-empty")


def main(words: list[str]) -> int:
    """`words` is the command line: guard check|committed [PID OF GIT]."""
    act = {"check": _check_commit, "committed": _settle_commit}[words[1]]
    try:
        root = find_repository(Path.cwd())
        return act(str(root.resolve()), "".join(words[2:3])) if root else 0
    except Exception as error:  # noqa: BLE001 - the outermost line: a fault of ours must not prevent a commit
        fault_log.log_fault(f"guard {words[1]}", error)
        _print_error(f"commonplace: others' lines were not looked for ({error})")
        return 0


def _check_commit(root: str, pid: str) -> int:
    hook_run = find_acting_run(root)
    if read_git_mode(hook_run) != "off" and (checkout := Checkout.open(root)):
        author = find_committing_author(checkout, hook_run)
        if author is not None:
            may_be_empty = _allows_empty(pid)
            plan = checkout.filter_index(author, _find_index(), may_be_empty=may_be_empty)
            _print_left(plan)
            if plan.is_empty and not may_be_empty:
                _print_error("Nothing of yours is staged, so nothing was committed.")
                return 1
            _name_session(root, hook_run)
    broken = guard_rules.check_commit(hook_run, is_person=is_person(hook_run))
    if hook_run.tool != "git":
        hook_run.state.put_notices(hook_run.context)
    if broken.warnings:
        _print_error("\n".join(["commonplace guard: a rule warns.", *broken.warnings]))
    if broken.denials:
        _print_error("\n".join(["commonplace guard: the commit is refused.", *broken.denials]))
    return 1 if broken.denials else 0


def _find_index() -> str:
    index = os.environ.get("GIT_INDEX_FILE", "")
    return str(Path(index).absolute()) if index else ""


def _allows_empty(pid: str) -> bool:
    """Whether git was asked for a commit that may change nothing."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return False
    return any(word in words for word in _ALLOWS_EMPTY)


def _name_session(root: str, hook_run: HookRun) -> None:
    session = hook_run.state.load_session()
    if session is not None and hook_run.settings.trailers:
        folder = Path(root, ".git")
        if folder.is_file():
            folder = Path(root, folder.read_text(encoding="utf-8").removeprefix("gitdir:").strip())
        (folder / SESSION_FILE).write_text(f"Commonplace-Session: {session.session_id}\n", encoding="utf-8")


def _settle_commit(root: str, _pid: str) -> int:
    hook_run = find_acting_run(root)
    checkout = Checkout.open(root)
    if checkout is None or read_git_mode(hook_run) == "off":
        return 0
    author = find_committing_author(checkout, hook_run)
    if author is not None:
        _print_left(checkout.settle_commit(author))
    return 0


def _print_left(plan: CommitPlan) -> None:
    if plan.left:
        _print_error(f"commonplace: {describe_left(plan.left)}")


def describe_left(left: Iterable[LeftLines]) -> str:
    """`left 2 lines of dee in src/core.py; to take them: commonplace git take src/core.py`."""
    merged = list(left)
    parts = [f"{_count_lines(each)} of {each.name} in {each.path}" for each in merged[:_MAX_FILES_NAMED]]
    more = f" and {len(merged) - _MAX_FILES_NAMED} more" if len(merged) > _MAX_FILES_NAMED else ""
    return f"left {', '.join(parts)}{more}; to take them: {take_command(each.path for each in merged)}"


def take_command(paths: Iterable[str]) -> str:
    import shlex  # only where something was left

    return f"{program_words()} git take {shlex.join(dict.fromkeys(paths))}"


def _count_lines(left: LeftLines) -> str:
    count = left.added or left.deleted
    noun = "line" if count == 1 else "lines"
    return f"{count} {noun}" if left.added else f"{count} deleted {noun}"


def _print_error(text: str) -> None:
    sys.stderr.write(f"{text}\n")
