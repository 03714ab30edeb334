"""The conflict radar: merges what is changed in the working trees of a repository in memory, before anybody commits,
and compares changed signatures with the calls in files that others change.

`companion/radar_start.py` starts it in the background after edits.
Both sides of a conflict that will come are told once; when it is resolved, nothing more is said.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.client.checkout import changed_signatures
from commonplace.client.checkout.acting_author import author_of
from commonplace.client.checkout.changed_signatures import Side, find_broken_calls
from commonplace.client.checkout.checkout import Checkout
from commonplace.client.checkout.git_program import GitFailed, ask_git, run_git, run_git_bytes
from commonplace.client.checkout.head_log import read_head
from commonplace.client.checkout.tree_report import OtherSession, list_changed_files, list_others
from commonplace.client.companion import fault_log, leases, prevented
from commonplace.client.companion.hook_event import HookEvent
from commonplace.client.companion.hook_run import HookRun, SessionEnded
from commonplace.client.companion.hook_settings import read_hook_settings
from commonplace.client.companion.hook_state import HookState, list_hook_sessions
from commonplace.file_region import shorten_path

_MAX_WORKING_TREES = 8
_MAX_FILES_NAMED = 5
_MAX_LINES_NAMED = 3
_PATIENCE_SECONDS = 10.0
_CONFLICT = 1
_IDENTITY = ("-c", "user.name=Commonplace", "-c", "user.email=commonplace@localhost")


class ComingConflict(NamedTuple):
    """A file that two working trees change so that git cannot merge it, and the first lines of the conflicts."""

    file: str
    lines: tuple[int, ...]


def main(words: list[str]) -> int:
    """`commonplace hook radar TOOL SESSION ROOT`."""
    try:
        tool, session, root = words[2:5]
        settings = read_hook_settings()._replace(seconds=_PATIENCE_SECONDS)
        event = HookEvent("after_edit", "radar", session, root)
        hook_run = HookRun(tool, event, settings, starts_sessions=False)
        try:
            tell_conflicts(hook_run)
            tell_broken_calls(hook_run)
        finally:
            hook_run.state.put_notices(hook_run.context)  # what came with the replies is for the next hook
    except SessionEnded:
        return 0
    except Exception as error:  # noqa: BLE001 - the outermost line of a process that nobody watches
        fault_log.log_fault("hook radar", error)
    return 0


def tell_conflicts(hook_run: HookRun) -> None:
    """Compare this working tree with those of the other live sessions; tell both sides of what is new."""
    root = hook_run.place
    others = {
        other.root: other for other in list_others(hook_run) if not other.here and Path(other.root).is_dir()
    }
    if not others:
        return
    own = _commit_of_tree(root)
    for other in list(others.values())[:_MAX_WORKING_TREES]:
        conflicts = find_conflicts(root, own, _commit_of_tree(other.root))
        fresh = _remember(hook_run.state, other.root, conflicts)
        for state in _local_states(other.root):
            _remember(state, root, conflicts)
        if fresh:
            _tell_both(hook_run, other, fresh)


def tell_broken_calls(hook_run: HookRun) -> None:
    """Tell of functions whose signature one of two agents changed and that files of the other call."""
    root, agent = hook_run.place, hook_run.confirm_agent()
    checkout = Checkout(root)
    author = author_of(hook_run)
    for other in list_others(hook_run)[:_MAX_WORKING_TREES]:
        if other.here:
            files = [
                each.path for each in checkout.describe_others(author) if each.author.name == other.agent
            ]
            own, theirs = Side(agent, root, checkout.list_own_files(author)), Side(other.agent, root, files)
            base = "HEAD"
        elif Path(other.root).is_dir():
            base = run_git("merge-base", "HEAD", read_head(other.root).commit or "HEAD", folder=root)
            own = Side(agent, root, changed_signatures.list_files_changed_since(root, base))
            theirs = Side(
                other.agent, other.root, changed_signatures.list_files_changed_since(other.root, base)
            )
        else:
            continue
        _tell_of_calls(hook_run, other, own, theirs, base)


def _tell_of_calls(hook_run: HookRun, other: OtherSession, own: Side, theirs: Side, base: str) -> None:
    found = [
        (call.describe(changer.agent, caller.agent), call)
        for changer, caller in ((own, theirs), (theirs, own))
        for call in find_broken_calls(changer, caller, base)
    ]
    texts = [text for text, _ in found]
    known = hook_run.state.load_conflicts(f"calls {other.agent}")
    if texts == known:
        return
    hook_run.state.save_conflicts(f"calls {other.agent}", texts)
    for state in _local_states(other.root):
        if state.folder != hook_run.state.folder:
            state.save_conflicts(f"calls {own.agent}", texts)
    fresh = [(text, call) for text, call in found if text not in known]
    if fresh:
        told = " ".join(text for text, _ in fresh[:_MAX_FILES_NAMED])
        hook_run.state.put_notices([told])
        files = [name for _, call in fresh for name in (call.declared_in, call.file)]
        prevented.report_prevented(hook_run, "conflict_predicted", told, files, [other.agent])


def find_conflicts(root: str, own: str, theirs: str) -> list[ComingConflict]:
    """The files that `git merge` of these commits would leave with conflicts; index and working tree stay untouched."""
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", own, theirs)
    code, output = ask_git(*words, folder=root)
    if code != _CONFLICT:
        return []
    tree, *files = [name for name in output.split("\0") if name]
    return [ComingConflict(file, _find_conflict_lines(root, tree, file)) for file in dict.fromkeys(files)]


def _commit_of_tree(root: str) -> str:
    """What a working tree would commit now: its changes on top of its branch."""
    if not list_changed_files(root):
        return run_git("rev-parse", "HEAD", folder=root)
    index = run_git("rev-parse", "--git-path", "index", folder=root)
    with tempfile.TemporaryDirectory(prefix="commonplace-") as folder:
        environ = {"GIT_INDEX_FILE": f"{folder}/index"}
        if Path(root, index).exists():
            shutil.copyfile(Path(root, index), f"{folder}/index")
        run_git_bytes("add", "--all", "--ignore-errors", "--", ".", folder=root, environ=environ)
        tree = run_git_bytes("write-tree", folder=root, environ=environ).decode().strip()
    return run_git(*_IDENTITY, "commit-tree", tree, "-p", "HEAD", "-m", "radar", folder=root)


def _find_conflict_lines(root: str, tree: str, file: str) -> tuple[int, ...]:
    """Where the conflicts begin, in the lines of this side; none if one side deleted the file."""
    try:
        lines = run_git("cat-file", "blob", f"{tree}:{file}", folder=root).splitlines()
    except GitFailed:
        return ()
    starts: list[int] = []
    number, is_theirs = 1, False
    for line in lines:
        if line.startswith("<<<<<<< "):
            starts.append(number)
        elif line == "=======" and starts:
            is_theirs = True
        elif line.startswith(">>>>>>> "):
            is_theirs = False
        elif not is_theirs:
            number += 1
    return tuple(starts)


def _remember(state: HookState, other_root: str, conflicts: Sequence[ComingConflict]) -> list[ComingConflict]:
    """Keep the present conflicts with that working tree; return those that were not there before."""
    known = state.load_conflicts(other_root)
    files = [conflict.file for conflict in conflicts]
    if files != known:
        state.save_conflicts(other_root, files)
    return [conflict for conflict in conflicts if conflict.file not in known]


def _local_states(root: str) -> list[HookState]:
    return [HookState(name) for name, session in list_hook_sessions().items() if session.root == root]


def _tell_both(hook_run: HookRun, other: OtherSession, conflicts: Sequence[ComingConflict]) -> None:
    agent, root = hook_run.confirm_agent(), hook_run.place
    named = ", ".join(_name_conflict(conflict) for conflict in conflicts[:_MAX_FILES_NAMED])
    first = _choose_first(agent, root, other)
    text = (
        f"A merge conflict is coming between {agent} ({_name_branch(hook_run.place)}) and {other.agent}"
        f" ({other.branch or other.root}) in {named}. {first} should commit first, since less is changed there; the"
        f" other then merges.{_name_holders(hook_run, conflicts)}"
    )
    hook_run.state.put_notices([text])
    files = [conflict.file for conflict in conflicts]
    prevented.report_prevented(hook_run, "conflict_predicted", text, files, [other.agent])


def _name_conflict(conflict: ComingConflict) -> str:
    lines = ",".join(map(str, conflict.lines[:_MAX_LINES_NAMED]))
    return f"{conflict.file}:{lines}" if lines else conflict.file


def _name_holders(hook_run: HookRun, conflicts: Sequence[ComingConflict]) -> str:
    """Who has leased what of these files."""
    held: list[str] = []
    for conflict in conflicts[:_MAX_FILES_NAMED]:
        reply = hook_run.call_in_session("memory_get_locks", path_pattern=conflict.file)
        locks = [(str(lock["held_by"]), lock) for lock in reply.get("locks", [])]
        locks += [(hook_run.confirm_agent(), lock) for lock in reply.get("your_locks", [])]
        held += [f"{holder} holds {shorten_path(leases.name_lock(lock))}" for holder, lock in locks]
    return f" {'; '.join(dict.fromkeys(held[:_MAX_FILES_NAMED]))}." if held else ""


def _name_branch(root: str) -> str:
    from commonplace.client import project  # only a conflict is named

    return project.find_branch(root) or root


def _choose_first(agent: str, root: str, other: OtherSession) -> str:
    """Who has changed less: the other one's merge is then the smaller one."""
    return agent if len(list_changed_files(root)) <= len(list_changed_files(other.root)) else other.agent
