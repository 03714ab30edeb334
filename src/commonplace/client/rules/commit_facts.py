"""What a commit would contain: the facts of rules on `commit`, before a shell command that commits and in the guard."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.client import project
from commonplace.client.checkout.git_program import GitFailed, run_git
from commonplace.client.checkout.tree_report import list_changed_files
from commonplace.client.checkout.working_tree import repository_path
from commonplace.client.rules import command_runs
from commonplace.client.rules.git_commands import GitCommand, read_git_commands
from commonplace.client.rules.hook_facts import list_all_files
from commonplace.client.rules.written_text import list_added_lines
from commonplace.rules.rule_check import RuleFacts
from commonplace.rules.shell_line import SimpleCommand

if TYPE_CHECKING:
    from commonplace.client.companion.hook_run import HookRun

_VALUED = frozenset(
    [
        "--message",
        "--file",
        "--author",
        "--date",
        "--reuse-message",
        "--reedit-message",
        "--template",
        "--fixup",
        "--squash",
        "--cleanup",
        "--trailer",
        "--pathspec-from-file",
        "--chmod",
    ]
)
_SHORT_VALUED = re.compile(r"-[a-zA-Z]*[mFCct]")
_TAKES_ALL = ("--all", "--update", "-A", "-u")
_SHORT_ALL = re.compile(r"-[b-zB-Z]*a[a-zA-Z]*")
_DIFF = ("diff", "--no-ext-diff", "--no-color", "-U0")
_MAX_FILES = 500
_MAX_FILE_BYTES = 200_000


class CommitFacts(RuleFacts):
    def __init__(self, hook_run: "HookRun", root: str, role: str) -> None:
        super().__init__("commit", role=role)
        self._hook_run, self._root = hook_run, root

    @cached_property
    def files(self) -> Sequence[str]:
        return self._list_staged()

    def _list_staged(self) -> list[str]:
        try:
            names = run_git("diff", "--cached", "--name-only", "--no-renames", "-z", folder=self._root)
        except GitFailed:
            return []
        return [name for name in names.split("\0") if name]

    @property
    def text(self) -> str:
        return self._diff("--cached")

    def _diff(self, *words: str) -> str:
        try:
            return "\n".join(list_added_lines(run_git(*_DIFF, *words, folder=self._root)))
        except GitFailed:
            return ""

    @property
    def branch(self) -> str:
        return project.find_branch(self._root)

    def has_run(self, patterns: Sequence[str], seconds: int) -> bool:
        return command_runs.has_run(self._hook_run.state, self._hook_run.tool, patterns, seconds)


class LineCommitFacts(CommitFacts):
    """The commit that a shell line makes: what is staged, and what the line itself adds before."""

    def __init__(self, hook_run: "HookRun", commands: Sequence[SimpleCommand], role: str) -> None:
        super().__init__(hook_run, hook_run.place, role)
        self._commands = list(read_git_commands(commands))

    @property
    def commits(self) -> bool:
        return any(git.subcommand == "commit" for git in self._commands)

    @cached_property
    def files(self) -> Sequence[str]:
        named = (path for git in self._commands for path in self._list_taken(git))
        return list(dict.fromkeys([*self._list_staged(), *named]))

    def _list_taken(self, git: GitCommand) -> Iterator[str]:
        if git.subcommand not in ("add", "stage", "commit"):
            return
        words = [word for word in git.arguments if word]
        values = {at + 1 for at, word in enumerate(words) if word in _VALUED or _SHORT_VALUED.fullmatch(word)}
        operands = [
            word
            for at, word in enumerate(words)
            if at not in values and (not word.startswith("-") or word == "-")
        ]
        takes_all = any(word in _TAKES_ALL or _SHORT_ALL.fullmatch(word) for word in words)
        if takes_all and not operands:
            yield from self._list_changed()
        paths = list_all_files([str(Path(git.cwd, operand)) for operand in operands])
        for path in paths[:_MAX_FILES]:
            if inside := repository_path(path, git.cwd, self._hook_run.tree):
                yield inside

    def _list_changed(self) -> list[str]:
        try:
            return list_changed_files(self._root)
        except GitFailed:
            return []

    @property
    def text(self) -> str:
        """What the files add to the last commit; a file that git does not know yet is new as a whole."""
        files = list(self.files)[:_MAX_FILES]
        if not files:
            return ""
        try:
            known = set(run_git("ls-files", "-z", "--", *files, folder=self._root).split("\0"))
        except GitFailed:
            known = set(files)
        new = [_read_text(Path(self._root, file)) for file in files if file not in known]
        return "\n".join([self._diff("HEAD", "--", *files), *new])


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
