"""`commonplace git`: stage your own lines, put your own changes aside, bring them back, and restore what a command
destroyed."""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

from commonplace import errors
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.git import git_program, rescue, shelves, snapshots
from commonplace.client.git.acting_run import find_acting_run, is_person
from commonplace.client.git.checkout import ChangedFile, Checkout, parse_owner, report_checkout
from commonplace.client.git.git_program import GitFailed
from commonplace.client.git.judgement import name_files
from commonplace.client.git.rescue import Rescue
from commonplace.client.git.shelves import Shelf, ShelfInTheWay
from commonplace.client.link import remote
from commonplace.client.regions import own_lines

_MAX_FILES = 1_000


def run(arguments: argparse.Namespace) -> int:
    try:
        return _ACTS[arguments.act](arguments)
    except GitFailed as failed:
        raise errors.NotFound(f"{failed}", hint="Run it inside a git repository.") from None


def _shelve(arguments: argparse.Namespace) -> int:
    hook_run, root = find_acting_run(), _find_root()
    own, foreign = _list_own_files(hook_run, root)
    wanted = [_from_root(root, path) for path in arguments.paths]
    if taken := [file for file in foreign if file.path in wanted]:
        raise errors.Conflict(
            f"These changes are not yours: {name_files(taken)}.", hint="Shelve your own files only."
        )
    changed = set(own) | {file.path for file in foreign}
    files = [path for path in wanted if path in changed] if wanted else own
    if not files:
        more = f" Not yours: {name_files(foreign)}." if foreign else ""
        raise errors.NotFound(
            f"You have no changes to shelve.{more}",
            hint="Name files that are yours: commonplace git shelve FILE.",
        )
    shelf = shelves.shelve_files(root, _agent_name(hook_run), files, arguments.message or "shelved")
    print(f"Shelved as {shelf.name}: {', '.join(files)}")
    print("  commonplace git unshelve    brings them back")
    return 0


def _list_own_files(hook_run: HookRun, root: str) -> tuple[list[str], list[ChangedFile]]:
    """The changed files that are the caller's, and those of others; without a server, all of them are."""
    status = list(Checkout(hook_run, root).status)[:_MAX_FILES]
    if not status:
        return [], []
    try:
        facts = report_checkout(hook_run, root, status, only_asks=hook_run.tool == "git")
    except (remote.ServerUnreachable, remote.ServerRefusal) as error:
        raise errors.Unavailable(
            f"Nobody can say whose the changes are: {error}", hint="Start the server, or use git stash."
        ) from None
    owners = [parse_owner(owner) for owner in facts["files"]]
    has_others = any(other["here"] for other in facts["others"])
    foreign = [
        file for file in owners if file.belongs_to_other or (has_others and not file.agent and not file.mine)
    ]
    taken = {file.path for file in foreign}
    return [file.path for file in owners if file.path not in taken], foreign


def _stage(arguments: argparse.Namespace) -> int:
    hook_run, root = find_acting_run(), _find_root()
    files = [_from_root(root, path) for path in arguments.paths]
    if staged := [file for file in files if own_lines.is_staged(root, file)]:
        raise errors.Conflict(
            f"Something of {', '.join(staged)} is staged already.",
            hint=f"Unstage it first: git restore --staged -- {' '.join(staged)}",
        )
    for file in files:
        try:
            found = own_lines.stage_own_lines(hook_run, root, file)
        except (remote.ServerUnreachable, remote.ServerRefusal) as error:
            raise errors.Unavailable(
                f"Nobody can say whose the lines are: {error}", hint="Start the server, or use git add -p."
            ) from None
        left = f"; left to {', '.join(found.holders)}: what they have leased" if found.holders else ""
        print(f"{file}: {found.staged} changed places staged{left}")
    return 0


def _unshelve(arguments: argparse.Namespace) -> int:
    hook_run, root = find_acting_run(), _find_root()
    agent = _agent_name(hook_run)
    shelf = _choose_shelf(root, agent, arguments.name)
    try:
        files = shelves.unshelve(root, shelf)
    except ShelfInTheWay as reason:
        raise errors.Conflict(
            f"{shelf.name} does not fit what is in the working tree now: {reason}",
            hint=f"Nothing was changed. See it with: git show {shelf.commit[:12]}",
        ) from None
    print(f"Brought back from {shelf.name}: {', '.join(files)}")
    return 0


def _choose_shelf(root: str, agent: str, name: str | None) -> Shelf:
    own = shelves.list_shelves(root, agent)
    if name is None and own:
        return own[0]
    found = [
        shelf for shelf in shelves.list_shelves(root) if name in (shelf.name, shelf.name.rpartition("/")[2])
    ]
    mine = [shelf for shelf in found if shelf in own] or found
    if not name or not mine:
        raise errors.NotFound(
            f"There is no shelf {name}." if name else "You have shelved nothing.",
            hint="See all with: commonplace git shelves",
        )
    return mine[0]


def _list_shelves(_arguments: argparse.Namespace) -> int:
    for shelf in shelves.list_shelves(_find_root()):
        print(f"{shelf.name}  {shelf.commit[:12]}  {shelf.what}")
    return 0


def _rescue(arguments: argparse.Namespace) -> int:
    root = _find_root()
    rescue.delete_old_rescues(root)
    return _RESCUE_ACTS[arguments.rescue_act](root, arguments)


def _list_rescues(root: str, _arguments: argparse.Namespace) -> int:
    for each in rescue.list_rescues(root):
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each.at))
        print(f"{each.name}  {when}  {each.what}")
    return 0


def _show_rescue(root: str, arguments: argparse.Namespace) -> int:
    each = _find_rescue(root, arguments.name)
    print(f"{each.name}  {each.what}")
    for file, letter in snapshots.list_committed_changes(root, each.commit).items():
        print(f"  {letter} {file}")
    print(f"  git show {each.commit[:12]}:FILE    prints a file")
    return 0


def _restore_rescue(root: str, arguments: argparse.Namespace) -> int:
    each = _find_rescue(root, arguments.name)
    files = [_from_root(root, path) for path in arguments.paths]
    if Checkout.has_changes(root):
        kept = rescue.make_rescue(root, f"before rescue restore {each.name}")
        print(f"What is changed now is kept as {kept}")
    restored = rescue.restore_files(root, each.commit, files)
    print(f"Restored from {each.name}: {', '.join(restored) or 'nothing was changed then'}")
    return 0


def _find_rescue(root: str, name: str) -> Rescue:
    found = [each for each in rescue.list_rescues(root) if each.name.startswith(name)]
    if name == "last":
        found = rescue.list_rescues(root)[:1]
    if not found:
        raise errors.NotFound(f"There is no rescue {name}.", hint="See all with: commonplace git rescue list")
    return found[0]


def _find_root() -> str:
    return str(git_program.worktree_root().resolve())


def _agent_name(hook_run: HookRun) -> str:
    if not is_person(hook_run) and hook_run.tool != "git":
        return hook_run.confirm_agent()
    return os.environ.get("USER") or os.environ.get("USERNAME") or "person"


def _from_root(root: str, path: str) -> str:
    return os.path.relpath(Path(path).absolute(), root)


_ACTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "stage": _stage,
    "shelve": _shelve,
    "unshelve": _unshelve,
    "shelves": _list_shelves,
    "rescue": _rescue,
}
_RESCUE_ACTS: dict[str, Callable[[str, argparse.Namespace], int]] = {
    "list": _list_rescues,
    "show": _show_rescue,
    "restore": _restore_rescue,
}
