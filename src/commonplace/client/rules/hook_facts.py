"""What a hook knows of the edit, command, prompt or stop that a rule is asked about. Each fact is looked up when needed."""

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from commonplace.client import project
from commonplace.client.checkout.working_tree import repository_path
from commonplace.client.companion.payload import list_patched_files
from commonplace.client.rules import command_runs
from commonplace.client.rules.git_commands import read_git_commands
from commonplace.client.rules.written_text import find_written_text
from commonplace.rules.command_pattern import Word
from commonplace.rules.rule_check import RuleFacts
from commonplace.rules.shell_line import SimpleCommand, split_line
from commonplace.rules.written_paths import list_written_paths

if TYPE_CHECKING:
    from commonplace.client.companion.hook_run import HookRun

_MAX_FILES = 2_000
_PATCHERS = ("apply_patch", "applypatch")


class HookFacts(RuleFacts):
    def __init__(self, hook_run: "HookRun", on: str) -> None:
        event = hook_run.event
        super().__init__(on, tool=event.tool, line=event.command, text=event.prompt)
        self._hook_run = hook_run

    @cached_property
    def files(self) -> Sequence[str]:
        """The files that an edit or a command changes, or that the session has changed before it stops."""
        if self.on == "stop":
            return self._hook_run.state.list_edited_files()
        if self.on == "command":
            return self._to_repository(list_all_files(self._list_written()))
        return self._to_repository(self._hook_run.event.files)

    @property
    def text(self) -> str:
        if self.on == "edit":
            return find_written_text(self._hook_run.event.arguments or {})
        return super().text

    @property
    def branch(self) -> str:
        return project.find_branch(self._hook_run.place)

    @cached_property
    def commands(self) -> list[tuple[Word, ...]]:
        """As the base does, with git's aliases resolved."""
        resolved = read_git_commands(self.split)
        return [
            *(command.words for command in self.split),
            *(("git", git.subcommand, *git.arguments) for git in resolved),
        ]

    @cached_property
    def split(self) -> list[SimpleCommand]:
        return split_line(self.line, self._hook_run.event.cwd)

    def _list_written(self) -> list[str]:
        written = [path for command in self.split for path in list_written_paths(command)]
        return written + self.list_patched()

    def list_patched(self) -> list[str]:
        """What `apply_patch` changes, which Codex also carries out in its shell tool; the patch stands in the line."""
        return [
            f"{command.cwd}/{path}"
            for command in self.split
            if command.program in _PATCHERS
            for path in list_patched_files({"command": self.line})
        ]

    def _to_repository(self, paths: Sequence[str]) -> list[str]:
        """Paths from the root of the repository; a path outside of it stays as it is."""
        run = self._hook_run
        named = ((repository_path(path, run.event.cwd, run.tree), path) for path in paths)
        return list(dict.fromkeys(inside or path for inside, path in named))

    def has_run(self, patterns: Sequence[str], seconds: int) -> bool:
        return command_runs.has_run(self._hook_run.state, self._hook_run.tool, patterns, seconds)


class PatchFacts(HookFacts):
    """The edit in a command that runs `apply_patch`, which is how models of Codex often edit."""

    def __init__(self, hook_run: "HookRun") -> None:
        super().__init__(hook_run, "edit")

    @cached_property
    def files(self) -> Sequence[str]:
        return self._to_repository(self.list_patched())

    @property
    def text(self) -> str:
        return find_written_text({"patch": self.line})


def list_all_files(paths: Sequence[str]) -> list[str]:
    """The paths, and the files in those that are folders."""
    found: list[str] = []
    for path in paths:
        found.append(path)
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - a text
            for folder, folders, names in os.walk(path):
                folders[:] = [name for name in folders if name != ".git"]
                found += [f"{folder}/{name}" for name in names]
                if len(found) > _MAX_FILES:
                    return found
    return found
