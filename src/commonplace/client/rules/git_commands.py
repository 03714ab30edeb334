"""The git commands of a shell line for rules: options before the subcommand are left out and aliases are resolved."""

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commonplace.client.checkout.git_program import GitFailed, run_git
from commonplace.rules.rule_check import GIT_SUBCOMMANDS
from commonplace.rules.shell_line import SimpleCommand, Word, split_line

_VALUED_OPTIONS = ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
_MAX_ALIASES = 3


class GitCommand(NamedTuple):
    cwd: str
    subcommand: str
    arguments: tuple[Word, ...]


def read_git_commands(commands: Sequence[SimpleCommand]) -> Iterator[GitCommand]:
    """With the aliases that the line itself sets by `git config` or `-c`."""
    aliases: dict[str, str] = {}
    for command in commands:
        if command.program == "git":
            yield from _read_git(list(command.words[1:]), command.cwd, aliases, 0)


def _read_git(words: list[Word], cwd: str, aliases: dict[str, str], depth: int) -> Iterator[GitCommand]:
    while words and (option := words[0]) is not None and option.startswith("-"):
        value = words[1] if option in _VALUED_OPTIONS and len(words) > 1 else ""
        if option == "-C" and value:
            cwd = f"{cwd}/{value}" if not value.startswith("/") else value
        elif option == "-c" and value and value.lower().startswith("alias."):
            name, _, text = value[len("alias.") :].partition("=")
            aliases[name] = text
        words = words[2 if option in _VALUED_OPTIONS else 1 :]
    if not words:
        return
    subcommand, rest = words[0] or "", words[1:]
    named = [word for word in rest if word and not word.startswith("-")]
    if subcommand == "config" and len(named) > 1 and named[-2].startswith("alias."):
        aliases[named[-2].removeprefix("alias.")] = named[-1]
    alias = aliases.get(subcommand) or (
        _find_alias(cwd, subcommand) if subcommand not in GIT_SUBCOMMANDS else ""
    )
    if not alias or depth >= _MAX_ALIASES:
        yield GitCommand(cwd, subcommand, tuple(rest))
    elif alias.startswith("!"):
        line = " ".join([alias[1:], *(shlex.quote(word) for word in rest if word)])
        for command in split_line(line, cwd):
            if command.program == "git":
                yield from _read_git(list(command.words[1:]), cwd, aliases, depth + 1)
    else:
        yield from _read_git([*alias.split(), *rest], cwd, aliases, depth + 1)


def _find_alias(cwd: str, name: str) -> str:
    try:
        return run_git("config", "--get", f"alias.{name}", folder=cwd) if name else ""
    except GitFailed:
        return ""
