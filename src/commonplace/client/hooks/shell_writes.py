"""What a hook does about the files that a shell command writes: leases on them, as before an edit; a refusal if others
work in what it deletes; a rescue if it may destroy changes of others that nobody has leased."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from commonplace.client.companion import fault_log, leases, prevented
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.git import rescue
from commonplace.client.git.checkout import ChangedFile, Checkout, OtherSession
from commonplace.client.git.file_writes import FileSweep
from commonplace.client.git.gate import GateAnswer
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.judgement import (
    Denial,
    is_free,
    list_owners,
    name_files,
    name_sessions,
    render_denial,
)
from commonplace.client.git.shell_wrappers import FileSearch
from commonplace.client.hooks.working_tree import find_working_tree, repository_path
from commonplace.client.link import remote

_MAX_FILES = 200
_GIT_PARTS = ("", "HEAD", "index", "logs", "modules", "objects", "packed-refs", "refs", "worktrees")
"""What is in git's own folder and cannot be made again."""


def check_writes(hook_run: HookRun, answer: GateAnswer, mode: str) -> str:
    """The refusal of what the command writes, if there is one; else leases are taken, and changes of others kept."""
    written = list(answer.written)
    if not (written or answer.sweeps):
        return ""
    if denial := _check_removed(hook_run, answer.removed):
        return denial
    if hook_run.settings.lock == "off":
        return ""
    folders = [path for path in written if Path(path).is_dir() and not Path(path).is_symlink()]
    files = _repository_paths(hook_run, [path for path in written if path not in folders])
    endangered = _list_endangered(
        hook_run, written, answer
    )  # before the files are reported as this session's
    try:
        conflicts = leases.list_conflicts(hook_run, _folder_patterns(hook_run, folders, answer.removed))
        if files and not conflicts:
            conflicts = _take_leases(hook_run, files, mode)
    except remote.ServerUnreachable:
        hook_run.state.add_unreported_files(files)
        raise
    if conflicts:
        names = [str(conflict["file"]) for conflict in conflicts]
        holders = [str(conflict["held_by"]) for conflict in conflicts]
        prevented.report_prevented(hook_run, "command_denied", hook_run.event.command, names, holders)
        return leases.render_denial(hook_run, conflicts)
    if denial := _check_sweeps(hook_run, answer.sweeps):
        return denial
    for root in endangered:
        _make_rescue(hook_run, root)
    return ""


def _folder_patterns(hook_run: HookRun, folders: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Lock paths for everything in these folders; a working tree that is deleted has been looked at already."""
    roots = [folder for folder in folders if (Path(folder) / ".git").exists()]
    inside = [
        f"{path}/" for path in _repository_paths(hook_run, [path for path in folders if path not in roots])
    ]
    written = [
        root for root in roots if root not in removed and find_working_tree(root).main == hook_run.tree.main
    ]
    return ["**", *inside] if written else inside


def _check_removed(hook_run: HookRun, removed: Sequence[str]) -> str:
    """The refusal if others work in a working tree, or with a repository, that the command deletes or moves."""
    paths = [Path(path).resolve() for path in removed]
    may_matter = [
        path for path in paths if _is_part_of_git(path) or _is_above_a_tree(path, hook_run.tree.main)
    ]
    if not may_matter:
        return ""
    others = Checkout(hook_run, hook_run.place).others
    there = [other for other in others if any(_takes_from(path, other) for path in may_matter)]
    if not there:
        return ""
    agents = tuple(dict.fromkeys(other.agent for other in there))
    command = hook_run.event.command
    prevented.report_prevented(hook_run, "command_denied", command, (), agents)
    way = f"ask {', '.join(agents)}: memory_send_message"
    return render_denial(command, Denial(f"{name_sessions(there)} in {there[0].root}.", (way,)))


def _is_above_a_tree(path: Path, main: str) -> bool:
    """Whether it is a working tree, or a folder that contains one."""
    return (path / ".git").exists() or Path(main).is_relative_to(path)


def _is_part_of_git(path: Path) -> bool:
    if ".git" not in path.parts or path.suffix == ".lock":
        return False
    inside = path.parts[path.parts.index(".git") + 1 :]
    return (inside[0] if inside else "") in _GIT_PARTS


def _takes_from(path: Path, other: OtherSession) -> bool:
    """Whether the other session loses its working tree, or git's own files, with this path."""
    return _is_part_of_git(path) or Path(other.root).resolve().is_relative_to(path)


def _take_leases(hook_run: HookRun, files: list[str], mode: str) -> list[leases.LeaseConflict]:
    if hook_run.settings.lock == "check" or mode == "warn":
        conflicts = leases.list_conflicts(hook_run, files)
    else:
        conflicts = leases.acquire_leases(hook_run, files, hook_run.settings.minutes)
    if not conflicts or mode == "warn":
        leases.report_edits(hook_run, files)
    return conflicts


def _check_sweeps(hook_run: HookRun, sweeps: Sequence[FileSweep]) -> str:
    """The refusal if `find` finds files that others have changed, and the command writes what it finds."""
    searches = [sweep.search for sweep in sweeps if sweep.search]
    roots = {
        tree.root
        for search in searches
        for folder in search.folders
        if (tree := find_working_tree(folder)).main == hook_run.tree.main
    }
    for root in roots:
        checkout = Checkout(hook_run, root)
        found = [file for file in checkout.list_changed_in(None) if file.belongs_to_other]
        found = [file for file in found if any(_finds(search, root, file) for search in searches)]
        if found:
            return _refuse_sweep(hook_run, found, checkout.others_here)
    return ""


def _refuse_sweep(hook_run: HookRun, found: Sequence[ChangedFile], others: Sequence[OtherSession]) -> str:
    command = hook_run.event.command
    names = [file.path for file in found]
    prevented.report_prevented(hook_run, "command_denied", command, names, list_owners(found, others))
    reason = f"it would change or delete files of others: {name_files(found)}."
    return render_denial(command, Denial(reason, ("the same for your own files, by their names",)))


def _finds(search: FileSearch, root: str, file: ChangedFile) -> bool:
    path = PurePosixPath(root) / file.path
    is_below = any(path.is_relative_to(Path(folder).resolve()) for folder in search.folders)
    return is_below and (not search.patterns or _has_name(file, search.patterns))


def _has_name(file: ChangedFile, patterns: Sequence[str]) -> bool:
    names = PurePosixPath(file.path).parts
    return any(fnmatchcase(name.lower(), pattern.lower()) for name in names for pattern in patterns)


def _list_endangered(hook_run: HookRun, written: Sequence[str], answer: GateAnswer) -> list[str]:
    """The working trees with changes that the command may destroy: of others, or all if a linked tree is deleted."""
    found: list[str] = []
    try:
        for root, paths in _group_by_tree(hook_run, written).items():
            if any(str(Path(path).resolve()) == root for path in answer.removed):
                found += [root] if root != hook_run.tree.main and Checkout.has_changes(root) else []
            elif _has_foreign_changes(hook_run, root, [str(path) for path in paths]):
                found.append(root)
        for sweep in answer.sweeps:
            tree = find_working_tree(sweep.cwd)
            is_unknown = sweep.search is None and tree.main == hook_run.tree.main
            if is_unknown and _has_foreign_changes(hook_run, tree.root, ()):
                found.append(tree.root)
    except GitFailed as failed:
        fault_log.log_fault("rescue", failed)
    return list(dict.fromkeys(found))


def _group_by_tree(hook_run: HookRun, paths: Sequence[str]) -> dict[str, list[Path]]:
    """The paths by the working trees of this repository that they are in, from the root of each."""
    grouped: dict[str, list[Path]] = {}
    for path in paths[:_MAX_FILES]:
        place = Path(path).parent.resolve() / Path(path).name
        tree = find_working_tree(str(place if place.is_dir() else place.parent))
        if tree.main == hook_run.tree.main and place.is_relative_to(tree.root):
            grouped.setdefault(tree.root, []).append(place.relative_to(tree.root))
    return grouped


def _has_foreign_changes(hook_run: HookRun, root: str, paths: Sequence[str]) -> bool:
    """Whether these paths of a working tree, or any if there are none, have changes of others."""
    checkout = Checkout(hook_run, root)
    dirty = _list_changed(root, paths) if paths else checkout.status
    if not dirty or not checkout.others_here:
        return False
    return any(file.path in dirty and not is_free(file) for file in checkout.changed)


def _make_rescue(hook_run: HookRun, root: str) -> None:
    try:
        name = rescue.make_rescue(root, hook_run.event.command[:200])
    except GitFailed as failed:
        fault_log.log_fault("rescue", failed)
        return
    prevented.report_prevented(hook_run, "rescue_made", f"{hook_run.event.command}: {name}")


def _list_changed(root: str, files: Sequence[str]) -> list[str]:
    """Those of the files, or in those folders, that differ from the last commit."""
    words = (
        "--no-optional-locks",
        "--literal-pathspecs",
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "-uall",
    )
    output = run_git(*words, "--", *files, folder=root)
    return [entry[3:] for entry in output.split("\0") if len(entry) > 3]  # noqa: PLR2004 - two letters and a blank


def _repository_paths(hook_run: HookRun, paths: Sequence[str]) -> list[str]:
    """Paths in this repository that git does not ignore: nobody loses a build log."""
    found = {repository_path(path, hook_run.event.cwd, hook_run.tree): path for path in paths[:_MAX_FILES]}
    names = [name for name in found if name and not name.startswith(".git/") and name != ".git"]
    if not names:
        return []
    try:
        given = "\0".join(names).encode("utf-8", "surrogateescape")
        ignored = run_git("check-ignore", "-z", "--stdin", folder=hook_run.place, given=given).split("\0")
    except GitFailed:  # git's way to say that none is ignored
        ignored = []
    return [name for name in names if name not in ignored]
