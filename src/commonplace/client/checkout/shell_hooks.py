"""What the hooks of an agent do for the lines of a working tree: around an edit, and around a shell command.

Most commands need nothing: those that only read. Before any other the tree is looked at, and after it: what changed is
the command's, what it destroyed of others is put back. Only what cannot be put right afterwards is refused.
"""

import os
import shlex
import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from commonplace.client import project
from commonplace.client.checkout.acting_author import author_of
from commonplace.client.checkout.checkout import Checkout, CommandOutcome, OtherLines
from commonplace.client.checkout.git_program import GitFailed
from commonplace.client.checkout.ledger import Author, LedgerBusy, list_ledger_roots
from commonplace.client.companion import fault_log, head_moves, prevented
from commonplace.client.companion.hook_event import HookAnswer
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.companion.hook_state import HookState
from commonplace.client.link import remote
from commonplace.client.program import NAME, find_program
from commonplace.rules.shell_line import SimpleCommand, split_line
from commonplace.rules.written_paths import list_written_paths

_READERS = frozenset(
    [
        "[",
        "basename",
        "cat",
        "cd",
        "column",
        "cmp",
        "comm",
        "cut",
        "date",
        "df",
        "diff",
        "dirname",
        "du",
        "echo",
        "egrep",
        "env",
        "export",
        "false",
        "fgrep",
        "file",
        "find",
        "grep",
        "head",
        "hostname",
        "id",
        "jq",
        "ls",
        "nl",
        "od",
        "printenv",
        "printf",
        "ps",
        "pwd",
        "readlink",
        "realpath",
        "rg",
        "seq",
        "sha256sum",
        "sleep",
        "sort",
        "stat",
        "strings",
        "tail",
        "test",
        "tr",
        "tree",
        "true",
        "type",
        "uname",
        "uniq",
        "wc",
        "which",
        "whoami",
        "xxd",
    ]
)
_GIT_READERS = frozenset(
    [
        "blame",
        "cat-file",
        "describe",
        "diff",
        "for-each-ref",
        "grep",
        "help",
        "log",
        "ls-files",
        "ls-remote",
        "ls-tree",
        "merge-base",
        "name-rev",
        "remote",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "show-ref",
        "status",
        "tag",
        "version",
        "whatchanged",
    ]
)
_WRITING_FLAGS = frozenset({"-delete", "-exec", "-execdir", "-ok", "-fprint", "-o", "--output"})
_REPLACING = frozenset({"cp", "dd", "install", "ln", "rsync", "tee", "truncate", "sponge"})
_DISCARDED = ("/dev/null", "/dev/stdout", "/dev/stderr")
_GIT_VALUES = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
_MAX_NAMED = 5
_MAX_RELEASED = 200


def read_git_mode(hook_run: HookRun) -> str:
    """guard, warn or off: the repository's, else the user's."""
    named = project.find_project_setting(Path(hook_run.tree.root), "git") if hook_run.tree.main else None
    return named.value if named and named.value in ("guard", "warn", "off") else hook_run.settings.git


def program_words() -> str:
    """How an agent's shell calls this program, from any folder."""
    return NAME if shutil.which(NAME) else shlex.join(find_program())


def is_harmless(commands: Sequence[SimpleCommand]) -> bool:
    """Whether the commands only read, as most do."""
    return all(_only_reads(command) for command in commands)


def _only_reads(command: SimpleCommand) -> bool:
    if any(file not in _DISCARDED for file in (*command.redirects, *command.appends)):
        return False
    if not command.words or None in command.words[:2]:
        return not command.words
    if command.program == "git":
        subcommand, _ = read_git_command(command)
        return subcommand in _GIT_READERS and "--output" not in command.words
    if command.program == "sed":
        return "-n" in command.words and not any(word and word.startswith("-i") for word in command.words)
    return command.program in _READERS and _WRITING_FLAGS.isdisjoint(command.words)


def read_git_command(command: SimpleCommand) -> tuple[str, list[str]]:
    """The subcommand of git and what follows it, None words left out."""
    words = [word for word in command.words[1:] if word is not None]
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _GIT_VALUES else words[1:]
    return (words[0], words[1:]) if words else ("", [])


def note_before_edit(hook_run: HookRun) -> None:
    for checkout, path in _open_files(hook_run):
        checkout.note_before_edit(author_of(hook_run), path)


def record_edit(hook_run: HookRun) -> None:
    for checkout, path in _open_files(hook_run):
        checkout.record_edit(author_of(hook_run), path)


def _open_files(hook_run: HookRun) -> Iterator[tuple[Checkout, str]]:
    """The edited files with the innermost working tree around each."""
    if read_git_mode(hook_run) == "off":
        return
    for file in hook_run.event.files:
        place = Path(hook_run.event.cwd, file)
        try:
            checkout = Checkout.open(str(place.parent))
            if checkout is not None:
                yield checkout, str(place.parent.resolve().relative_to(checkout.root) / place.name)
        except (GitFailed, LedgerBusy, OSError, ValueError) as error:
            fault_log.log_fault(f"lines of {file}", error)


def on_before_shell(hook_run: HookRun) -> HookAnswer:
    event = hook_run.event
    if read_git_mode(hook_run) == "off":
        return HookAnswer()
    commands = split_line(event.command, event.cwd)
    if is_harmless(commands) and commands:
        return HookAnswer()
    author = author_of(hook_run)
    checkouts = _open_trees(hook_run)
    others = {checkout.root: _list_others(checkout, author) for checkout in checkouts}
    denial = next((text for each in commands if (text := _find_refusal(each, checkouts, others))), "")
    if denial and read_git_mode(hook_run) == "guard":
        names = {line.author.name for lines in others.values() for line in lines}
        prevented.report_prevented(hook_run, "command_denied", event.command, (), sorted(names))
        return HookAnswer(denial=f"{denial} Nothing was changed.")
    if "git" in event.command:
        head_moves.note_own_command(hook_run)
    rewritten = _narrow_stash(event.command, commands, others.get(checkouts[0].root, []) if checkouts else [])
    if checkouts and hook_run.state.is_first_time(f"git hooks of {checkouts[0].root}"):
        _install_git_hooks(checkouts[0].root)
    for checkout in checkouts:
        try:
            checkout.begin_command(author, _command_key(hook_run), rewritten or event.command)
        except (GitFailed, LedgerBusy, OSError, ValueError) as error:
            fault_log.log_fault("lines before a command", error)
    arguments = {"command": rewritten} if rewritten else None
    return HookAnswer(arguments=arguments, reports_end=bool(checkouts))


def _install_git_hooks(root: str) -> None:
    from commonplace.client.commands.guard import ensure_installed  # once per session

    try:
        ensure_installed(root)
    except (GitFailed, OSError) as error:
        fault_log.log_fault("git hooks", error)


def on_after_shell(hook_run: HookRun) -> None:
    """What the command changed is its author's; what it destroyed of others is back, and both are told."""
    event = hook_run.event
    if read_git_mode(hook_run) == "off":
        return
    commands = split_line(event.command, event.cwd)
    if is_harmless(commands) and commands:
        return
    author = author_of(hook_run)
    for checkout in _open_trees(hook_run):
        try:
            outcome = checkout.end_command(author, _command_key(hook_run))
        except (GitFailed, LedgerBusy, OSError, ValueError) as error:
            fault_log.log_fault("lines after a command", error)
            continue
        if outcome.has_committed:
            _release_leases(hook_run, checkout, author)
        hook_run.context += list(_describe_outcome(outcome, event.command))
        _tell_others(outcome, author, event.command)
        if outcome.restored:
            prevented.report_prevented(hook_run, "rescue_made", event.command, list(outcome.restored))


def _release_leases(hook_run: HookRun, checkout: Checkout, author: Author) -> None:
    """What is committed needs no lease any more."""
    own = set(checkout.list_own_files(author))
    leased = [file for file, lease in hook_run.state.load_leases().items() if not lease.reasoned]
    free = [file for file in leased if file not in own][:_MAX_RELEASED]
    if free and hook_run.settings.lock == "auto":
        try:
            hook_run.call_in_session("memory_unlock_files", files=free)
        except (remote.ServerUnreachable, remote.ServerRefusal) as error:
            fault_log.log_fault("leases of committed files", error)


def on_turn_end(hook_run: HookRun) -> None:
    """No command of the window runs any more, also if a hook has not told its end."""
    checkout = Checkout.open(hook_run.place) if hook_run.tree.main else None
    if checkout is not None:
        checkout.end_turn(author_of(hook_run))


def on_session_end(hook_run: HookRun) -> None:
    author = author_of(hook_run)
    for root in list_ledger_roots():
        try:
            if (checkout := Checkout.open(root)) and checkout.root == root:
                checkout.end_author(author)
        except (GitFailed, LedgerBusy, OSError) as error:
            fault_log.log_fault("lines of an ended session", error)


def _open_trees(hook_run: HookRun) -> list[Checkout]:
    """The tree that the command runs in, and those that it may name; the commands of the line may go to any."""
    event = hook_run.event
    roots = [root for root in list_ledger_roots() if Path(root).name in event.command and Path(root).is_dir()]
    opened: list[Checkout] = []
    for place in dict.fromkeys([event.cwd, *roots]):
        try:
            checkout = Checkout.open(place)
        except GitFailed as failed:
            fault_log.log_fault("lines of a working tree", failed)
            continue
        if checkout is not None and checkout.root not in [each.root for each in opened]:
            opened.append(checkout)
    return opened


def _command_key(hook_run: HookRun) -> str:
    event = hook_run.event
    text = f"{event.session}/{event.subagent}/{event.call_id}/{event.command}"
    return f"{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def _list_others(checkout: Checkout, author: Author) -> list[OtherLines]:
    try:
        return checkout.describe_others(author)
    except (GitFailed, OSError, ValueError) as error:
        fault_log.log_fault("lines of others", error)
        return []


def _find_refusal(
    command: SimpleCommand, checkouts: Sequence[Checkout], others: dict[str, list[OtherLines]]
) -> str:
    """Why a command is refused that nothing can put right: other people's branch, tree or history would be gone."""
    words = [word for word in command.words[1:] if word and not word.startswith("-")]
    subcommand, rest = read_git_command(command) if command.program == "git" else ("", [])
    if command.program in ("rm", "mv", "rmdir", "shred", "unlink") or rest[:1] == ["remove"]:
        operands = [Path(os.path.normpath(Path(command.cwd, word))) for word in words]
        return _refuse_removal(command, operands, others)
    replaced = list_written_paths(command) if command.program in _REPLACING or command.redirects else []
    for path in replaced:
        for root, lines in others.items():
            if found := [each for each in lines if path == f"{root}/{each.path}"]:
                return f"{_name_others(found)}, and the command would replace the file. Edit the lines that you mean."
    here = next((lines for root, lines in others.items() if Path(command.cwd).is_relative_to(root)), [])
    return _refuse_git(subcommand, rest, here, command.cwd, checkouts[0].root) if here else ""


def _refuse_git(subcommand: str, rest: Sequence[str], here: Sequence[OtherLines], cwd: str, root: str) -> str:
    if subcommand in ("switch", "checkout") and (branch := _find_branch(subcommand, rest, cwd)):
        folder = f"../{Path(root).name}-{branch.replace('/', '-')}"
        ways = shlex.join(["git", "worktree", "add", folder, branch])
        return f"{_name_others(here)} here: they would be on another branch. Use a working tree of your own: `{ways}`."
    is_prune = subcommand == "gc" and any(
        word.startswith("--prune") and word != "--prune=never" for word in rest
    )
    if is_prune or subcommand == "prune" or (subcommand == "reflog" and rest[:1] in (["expire"], ["delete"])):
        return f"{_name_others(here)} here, and `git {subcommand}` deletes what they may want back. `git gc` is safe."
    return ""


def _refuse_removal(
    command: SimpleCommand, paths: Iterable[Path], others: dict[str, list[OtherLines]]
) -> str:
    for path in paths:
        for root, lines in others.items():
            if lines and (Path(root).is_relative_to(path) or path == Path(root, ".git")):
                return (
                    f"{_name_others(lines)} in {root}, and `{command.program}` would remove it."
                    f" `git -C {shlex.quote(root)} status` shows what is there."
                )
    return ""


def _find_branch(subcommand: str, rest: Sequence[str], cwd: str) -> str:
    """The branch that the command would switch the tree to; empty for files and for a new branch."""
    flags = [word for word in rest if word.startswith("-") and word != "-"]
    operands = [word for word in rest if not word.startswith("-") or word == "-"]
    if "--" in rest or not operands or (subcommand == "checkout" and len(operands) > 1 and not flags):
        return ""
    if any(flag in ("-b", "-B", "-c", "-C", "--orphan", "--create") for flag in flags):
        return operands[0]
    is_file = subcommand == "checkout" and Path(cwd, operands[0]).exists()
    return "" if is_file else operands[0]


def _narrow_stash(text: str, commands: Sequence[SimpleCommand], here: Sequence[OtherLines]) -> str:
    """`git stash` as a command on one's own lines while others have some; empty if nothing is to be rewritten."""
    if not here:
        return ""
    for command in sorted(commands, key=lambda each: each.span, reverse=True):
        subcommand, rest = read_git_command(command) if command.program == "git" else ("", [])
        if subcommand != "stash" or command.span == (0, 0):
            continue
        act = rest[0] if rest and not rest[0].startswith("-") else "push"
        words = {"push": ["shelve"], "save": ["shelve"], "pop": ["unshelve"], "apply": ["unshelve"], "list": ["shelves"]}.get(act)  # fmt: skip
        if words is None:
            continue
        if act in ("push", "save"):
            words += _read_stash_message(rest)
        start, end = command.span
        text = f"{text[:start]}{program_words()} git {shlex.join(words)}{_tail(text[start:end])}{text[end:]}"
    return text if "git shelve" in text or "git unshelve" in text else ""


def _tail(part: str) -> str:
    return part[len(part.rstrip()) :]


def _read_stash_message(rest: Sequence[str]) -> list[str]:
    """`-m TEXT` and the paths after `--`, as `shelve` takes them."""
    message = next(
        (["-m", rest[at + 1]] for at, word in enumerate(rest[:-1]) if word in ("-m", "--message")), []
    )
    paths = list(rest[rest.index("--") + 1 :]) if "--" in rest else []
    return [*message, *paths]


def _name_others(lines: Sequence[OtherLines]) -> str:
    """`dee has uncommitted lines in a.py (12-14), b.py`."""
    names = list(dict.fromkeys(each.author.name for each in lines))
    files = [f"{each.path} ({format_lines(each.lines)})" for each in lines[:_MAX_NAMED]]
    more = f" and {len(lines) - _MAX_NAMED} more files" if len(lines) > _MAX_NAMED else ""
    verb = "has" if len(names) == 1 else "have"
    return f"{' and '.join(names)} {verb} uncommitted lines in {', '.join(files)}{more}"


def format_lines(numbers: Sequence[int]) -> str:
    """`3-5,9`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    parts = [str(first) if first == last else f"{first}-{last}" for first, last in spans[:_MAX_NAMED]]
    return ",".join(parts) + (",…" if len(spans) > _MAX_NAMED else "")


def _describe_outcome(outcome: CommandOutcome, command: str) -> Iterator[str]:
    if outcome.restored:
        yield (
            f"`{command[:100]}` undid uncommitted lines of others ({_name_files(outcome.restored)}): theirs are back in"
            " place. Your own changes are as the command left them."
        )
    if outcome.rewritten:
        yield (
            f"`{command[:100]}` changed uncommitted lines of others ({_name_files(outcome.rewritten)}). The versions"
            f" before it: `{program_words()} git rescue list`."
        )
    if outcome.plan.left:
        from commonplace.client.checkout.commit_hooks import describe_left  # few commands leave something

        yield f"The index and the commit have your own lines only: {describe_left(outcome.plan.left)}."


def _name_files(files: dict[str, list[Author]]) -> str:
    named = [
        f"{path} of {' and '.join(author.name for author in authors)}" for path, authors in files.items()
    ]
    return ", ".join(named[:_MAX_NAMED]) + (f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else "")  # fmt: skip


def _tell_others(outcome: CommandOutcome, author: Author, command: str) -> None:
    for files, what in (
        (outcome.restored, "undid uncommitted lines of yours in {}; they are back in place"),
        (
            outcome.rewritten,
            "changed uncommitted lines of yours in {}; `{} git rescue list` has the version before",
        ),
    ):
        told: dict[str, list[str]] = {}
        for path, owners in files.items():
            for owner in owners:
                told.setdefault(owner.id.partition("/")[0], []).append(path)
        for session, paths in told.items():
            text = what.format(", ".join(paths[:_MAX_NAMED]), program_words())
            HookState(session).put_notices([f"`{command[:100]}` of {author.name} {text}."])
