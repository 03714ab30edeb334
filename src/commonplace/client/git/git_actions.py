"""Collects what a command line asks of git: its own git commands, those of scripts that it runs, and of submodules."""

import configparser
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.client import project
from commonplace.client.git.git_command import (
    UNKNOWN_SUBCOMMAND,
    GitCommand,
    parse_options,
    read_git_commands,
    read_set_alias,
)
from commonplace.client.git.script_files import list_scripts
from commonplace.client.git.shell_parser import parse_line
from commonplace.client.git.shell_wrappers import ShellCommand

_MAX_SCRIPT_DEPTH = 3
_MAX_SUBMODULES = 20


class GitAction(NamedTuple):
    """A git command that has a rule, and the working tree that it acts on."""

    command: GitCommand
    root: str
    is_certain: bool = True
    """False if a script may skip it, so that it is no reason to refuse the script."""


class GitActions:
    """The actions of one line, in the order in which they are run."""

    def __init__(self, subcommands: Collection[str]) -> None:
        self._subcommands = subcommands
        self._aliases: dict[str, str] = {}

    def list_actions(self, commands: Sequence[ShellCommand]) -> list[GitAction]:
        return [action for command in commands for action in self._read_command(command, 0)]

    def _read_command(self, command: ShellCommand, depth: int) -> Iterator[GitAction]:
        for git in read_git_commands(command, self._aliases):
            if alias := read_set_alias(git):
                self._aliases[alias[0]] = alias[1]
            yield from self._read_git(git, depth)
        if depth < _MAX_SCRIPT_DEPTH:
            yield from self._read_scripts(command, depth)

    def _read_git(self, command: GitCommand, depth: int) -> Iterator[GitAction]:
        root = _find_root(command.cwd)
        if root is None or "--help" in command.arguments:
            return
        if command.subcommand == "submodule":
            yield from self._read_submodules(command, root, depth)
        elif command.subcommand in self._subcommands:
            yield GitAction(command, str(root), is_certain=depth == 0 or not command.is_conditional)

    def _read_scripts(self, command: ShellCommand, depth: int) -> Iterator[GitAction]:
        for script in list_scripts(command):
            if script.is_shell:
                for inner in parse_line(script.text, script.cwd).commands:
                    is_conditional = inner.is_conditional or command.is_conditional
                    yield from self._read_command(inner._replace(is_conditional=is_conditional), depth + 1)
            elif script.may_destroy and (root := _find_root(script.cwd)):
                yield GitAction(GitCommand(script.cwd, UNKNOWN_SUBCOMMAND, (), (), command), str(root))

    def _read_submodules(self, command: GitCommand, root: Path, depth: int) -> Iterator[GitAction]:
        """`submodule foreach LINE` runs a line in each; `update --force` and `deinit -f` discard their changes."""
        options = parse_options(command.arguments)
        act, *rest = [word for word in (*options.operands, *options.paths) if word] or [""]
        folders = _list_submodules(root)
        if act == "foreach":
            for folder in folders:
                for inner in parse_line(" ".join(rest), str(folder)).commands:
                    yield from self._read_command(inner, depth + 1)
        elif act in ("update", "deinit") and options.has("-f", "--force"):
            for folder in folders:
                yield GitAction(GitCommand(str(folder), "reset", ("--hard",), (), command.shell), str(folder))


def _find_root(cwd: str) -> Path | None:
    return project.find_repository(Path(cwd).resolve()) if Path(cwd).is_dir() else None


def _list_submodules(root: Path) -> list[Path]:
    """The submodules that are checked out."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string((root / ".gitmodules").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return []
    paths = [root / parser[section]["path"] for section in parser.sections() if "path" in parser[section]]
    return [path for path in paths[:_MAX_SUBMODULES] if (path / ".git").exists()]
