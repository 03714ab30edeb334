"""What a hook does before an agent's shell command: the git gate, and leases on the files that the command writes."""

import re
from pathlib import Path

from commonplace.client import project
from commonplace.client.companion import head_moves
from commonplace.client.companion.hook_event import HookAnswer
from commonplace.client.companion.hook_run import HookRun

STATUS_TOOL = "memory_checkout_status"

_MIN_SECONDS = 2.0
# Before the parser is loaded, which takes 20 ms: what cannot matter is taken away, and the rest is looked at.
_HARMLESS = re.compile(
    r"\bgit\s+(?:--no-pager\s+)?(?:status|diff|log|show|blame|rev-parse|ls-files|remote|grep|describe|tag"
    r"|shortlog|rev-list|cat-file|version|show-ref|merge-base|for-each-ref|fetch(?:\s+[\w./-]+)?(?=\s*(?:$|[;&|])))\b"
    r"|[12&]?>{1,2}\s*/dev/null\b|[12]?>&[12-]|2>>?\s*/tmp/\S+"
)
_MAY_MATTER = re.compile(
    r"\bgit\b|>|\bgh\s+pr\b|-delete\b|\bopen\(|(?:write_|remove|rmtree|File)\w*\("
    r"|\b(?:apply_?patch|autopep8|black|clang-format|cp|curl|dd|ed|eslint|ex|fmt|gofmt|goimports|inplace|install|isort|ln|mv"
    r"|patch|perl|prettier|rm|rsync|ruby|ruff|rustfmt|sed|shred|sponge|tee|truncate|unlink|wget)\b"
)
_QUOTES = re.compile(r"[\"'\\]")
_RUNS_SCRIPT = re.compile(
    r"\b(?:make|gmake|just|npm|pnpm|yarn|bun|source|(?:ba|da|z|k|fi)?sh|python[\d.]*|node|ruby|perl)\b|(?:^|[\s;&|(])\.{0,2}/\S|(?:^|\s)\.\s"
)
_PROJECT_SCRIPTS = re.compile(r"\b(?:make|gmake|just|npm|pnpm|yarn|bun)\b")
_PROJECT_FILES = ("package.json", "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile")
_MAY_MOVE_HEAD = re.compile(r"\bgit\b")
_MAX_SCRIPT_BYTES = 100_000


def may_matter(command: str, cwd: str = "") -> bool:
    """Whether the command can change git's state or files; a quick look that errs on the side of looking closer."""
    rest = _QUOTES.sub("", _HARMLESS.sub("", command))
    return _MAY_MATTER.search(rest) is not None or (bool(cwd) and _may_run_git(command, cwd))


def _may_run_git(command: str, cwd: str) -> bool:
    """Whether the command runs a script, and a file that it may mean contains the word git."""
    if not _RUNS_SCRIPT.search(command):
        return False
    words = _QUOTES.sub(" ", command).replace(";", " ").replace("&", " ").replace("|", " ").split()
    files = [word for word in words if "/" in word or "." in word]
    if _PROJECT_SCRIPTS.search(command):
        files += _PROJECT_FILES
    folders = [
        Path(cwd),
        *(Path(cwd, words[at + 1]) for at, word in enumerate(words[:-1]) if word in ("cd", "-C", "pushd")),
    ]
    return any(_mentions_git(folder / file) for folder in folders for file in files)


def _mentions_git(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _MAX_SCRIPT_BYTES and b"git" in path.read_bytes()
    except (OSError, ValueError):
        return False


def read_git_mode(hook_run: HookRun) -> str:
    """guard, warn or off: the repository's, else the user's."""
    root = hook_run.tree.root
    named = project.find_project_setting(Path(root), "git") if hook_run.tree.main else None
    return named.value if named and named.value in ("guard", "warn", "off") else hook_run.settings.git


def on_before_shell(hook_run: HookRun) -> HookAnswer:
    command = hook_run.event.command
    if not hook_run.tree.main or not may_matter(command, hook_run.event.cwd):
        return HookAnswer()
    mode = read_git_mode(hook_run)
    if mode == "off":
        return HookAnswer()
    from commonplace.client.git import checkout, gate  # few commands need the parser
    from commonplace.client.hooks import shell_writes

    # git itself needs time, which is not the server's.
    hook_run.settings = hook_run.settings._replace(seconds=max(hook_run.settings.seconds, _MIN_SECONDS))
    checkout.follow_to(hook_run, hook_run.event.cwd)
    only_warns = mode == "warn"
    answer = gate.check_command(hook_run, command, hook_run.event.cwd, only_warns=only_warns)
    if answer.warning:
        hook_run.context.append(answer.warning)
    denial = answer.denial or shell_writes.check_writes(hook_run, answer, mode)
    if denial and only_warns:
        hook_run.context.append(denial.replace("Nothing was changed. ", ""))
        denial = ""
    if not denial and _MAY_MOVE_HEAD.search(_HARMLESS.sub("", command)):
        head_moves.note_own_command(hook_run)
    return HookAnswer(denial=denial)


def report_changes(hook_run: HookRun) -> None:
    """Report what is changed and shelved here, before the model asks for it."""
    if not hook_run.tree.main:
        return
    from commonplace.client.git import checkout, shelves  # models ask rarely
    from commonplace.client.git.git_program import GitFailed

    root = hook_run.place
    try:
        files, shelved = list(checkout.list_changed_files(root)), shelves.list_shelves(root)
    except GitFailed:
        return
    names = [f"{shelf.name}: {shelf.what}"[:300] for shelf in shelved[:100]]
    checkout.report_checkout(hook_run, files=files[:1_000], shelved=names)
