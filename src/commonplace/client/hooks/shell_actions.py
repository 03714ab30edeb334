"""What a hook does before an agent's shell command: the git gate, and leases on the files that the command writes."""

import re
from pathlib import Path

from commonplace.client import project, remote
from commonplace.client.hooks import head_moves, leases, prevented
from commonplace.client.hooks.hook_event import HookAnswer
from commonplace.client.hooks.hook_run import HookRun
from commonplace.client.hooks.working_tree import repository_path

STATUS_TOOL = "memory_checkout_status"

_MIN_SECONDS = 2.0
_MAX_FILES = 200
# Before the parser is loaded, which takes 20 ms: what cannot matter is taken away, and the rest is looked at.
_HARMLESS = re.compile(
    r"\bgit\s+(?:--no-pager\s+)?(?:status|diff|log|show|blame|rev-parse|ls-files|remote|fetch|grep|describe|config|tag"
    r"|shortlog|rev-list|cat-file|reflog|version|show-ref|symbolic-ref|merge-base|for-each-ref)\b"
    r"|[12&]?>{1,2}\s*/dev/null\b|[12]?>&[12-]|2>>?\s*/tmp/\S+"
)
_MAY_MATTER = re.compile(
    r"\bgit\b|>|\b(?:apply_?patch|autopep8|black|clang-format|cp|dd|eslint|gofmt|goimports|install|isort|ln|mv|perl|prettier|rm|ruff"
    r"|rustfmt|sed|shred|tee|truncate|unlink)\b"
)
_MAY_MOVE_HEAD = re.compile(r"\bgit\b")


def may_matter(command: str) -> bool:
    """Whether the command can change git's state or files; a quick look that errs on the side of looking closer."""
    return _MAY_MATTER.search(_HARMLESS.sub("", command)) is not None


def read_git_mode(hook_run: HookRun) -> str:
    """guard, warn or off: the repository's, else the user's."""
    root = hook_run.tree.root
    named = project.find_project_setting(Path(root), "git") if hook_run.tree.main else None
    return named.value if named and named.value in ("guard", "warn", "off") else hook_run.settings.git


def on_before_shell(hook_run: HookRun) -> HookAnswer:
    command = hook_run.event.command
    if not hook_run.tree.main or not may_matter(command):
        return HookAnswer()
    mode = read_git_mode(hook_run)
    if mode == "off":
        return HookAnswer()
    from commonplace.client.git import checkout, gate  # noqa: PLC0415 - few commands need the parser

    # git itself needs time, which is not the server's.
    hook_run.settings = hook_run.settings._replace(seconds=max(hook_run.settings.seconds, _MIN_SECONDS))
    checkout.follow_to(hook_run, hook_run.event.cwd)
    only_warns = mode == "warn"
    answer = gate.check_command(hook_run, command, hook_run.event.cwd, only_warns=only_warns)
    if answer.warning:
        hook_run.context.append(answer.warning)
    denial = answer.denial or _check_writes(hook_run, list(answer.written), mode)
    if denial and only_warns:
        hook_run.context.append(denial.replace("Nothing was changed. ", ""))
        denial = ""
    if not denial and _MAY_MOVE_HEAD.search(_HARMLESS.sub("", command)):
        head_moves.note_own_command(hook_run)
    return HookAnswer(denial=denial)


def _check_writes(hook_run: HookRun, written: list[str], mode: str) -> str:
    """Take leases on the files that the command writes, as before an edit; the refusal if another has one."""
    if hook_run.settings.lock == "off" or not written:
        return ""
    folders = [path for path in written if Path(path).is_dir() and not Path(path).is_symlink()]
    if denial := _check_removed_trees(hook_run, folders):
        return denial
    files = _repository_paths(hook_run, [path for path in written if path not in folders])
    inside = [f"{path}/" for path in _repository_paths(hook_run, folders)]
    try:
        conflicts = leases.list_conflicts(hook_run, inside) if inside else []
        if files and not conflicts:
            conflicts = _take_leases(hook_run, files, mode)
    except remote.ServerUnreachable:
        hook_run.state.add_unreported_files(files)
        raise
    if not conflicts:
        return ""
    names = [str(conflict["file"]) for conflict in conflicts]
    holders = [str(conflict["held_by"]) for conflict in conflicts]
    prevented.report_prevented(hook_run, "command_denied", hook_run.event.command, names, holders)
    return leases.render_denial(hook_run, conflicts)


def _check_removed_trees(hook_run: HookRun, folders: list[str]) -> str:
    """The refusal if another session works in a working tree that the command deletes or moves."""
    trees = {str(Path(folder).resolve()): folder for folder in folders if (Path(folder) / ".git").exists()}
    if not trees:
        return ""
    from commonplace.client.git.checkout import Checkout  # noqa: PLC0415 - few commands delete a working tree
    from commonplace.client.git.judgement import Denial, name_sessions, render_denial  # noqa: PLC0415 - the same

    others = Checkout(hook_run, hook_run.place).others
    there = [other for other in others if str(Path(other.root).resolve()) in trees]
    if not there:
        return ""
    agents = tuple(dict.fromkeys(other.agent for other in there))
    command = hook_run.event.command
    prevented.report_prevented(hook_run, "command_denied", command, (), agents)
    way = f"ask {', '.join(agents)}: memory_send_message"
    return render_denial(command, Denial(f"{name_sessions(there)} in {there[0].root}.", (way,)))


def _take_leases(hook_run: HookRun, files: list[str], mode: str) -> list[leases.LeaseConflict]:
    if hook_run.settings.lock == "check" or mode == "warn":
        conflicts = leases.list_conflicts(hook_run, files)
    else:
        conflicts = leases.acquire_leases(hook_run, files, hook_run.settings.minutes)
    if not conflicts or mode == "warn":
        leases.report_edits(hook_run, files)
    return conflicts


def _repository_paths(hook_run: HookRun, paths: list[str]) -> list[str]:
    """Paths in this repository that git does not ignore: nobody loses a build log."""
    from commonplace.client.git.git_program import GitFailed, run_git  # noqa: PLC0415 - few commands write files

    found = {repository_path(path, hook_run.event.cwd, hook_run.tree): path for path in paths[:_MAX_FILES]}
    names = [name for name in found if name]
    if not names:
        return []
    try:
        given = "\0".join(names).encode("utf-8", "surrogateescape")
        ignored = run_git("check-ignore", "-z", "--stdin", folder=hook_run.place, given=given).split("\0")
    except GitFailed:  # git's way to say that none is ignored
        ignored = []
    return [name for name in names if name not in ignored]


def report_changes(hook_run: HookRun) -> None:
    """Report what is changed and shelved here, before the model asks for it."""
    if not hook_run.tree.main:
        return
    from commonplace.client.git import checkout, shelves  # noqa: PLC0415 - models ask rarely
    from commonplace.client.git.git_program import GitFailed  # noqa: PLC0415 - the same

    root = hook_run.place
    try:
        files, shelved = list(checkout.list_changed_files(root)), shelves.list_shelves(root)
    except GitFailed:
        return
    names = [f"{shelf.name}: {shelf.what}"[:300] for shelf in shelved[:100]]
    checkout.report_checkout(hook_run, files=files[:1_000], shelved=names)
