"""Reads a git command line: where it acts, which subcommand it is, its flags and its operands. Aliases are resolved."""

import os
import re
import shlex
from collections.abc import Collection, Iterator
from typing import NamedTuple

from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.shell_parser import MAX_DEPTH, ShellCommand, Word, join_folder, parse_line

_VALUED_OPTIONS = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env")
_ALIAS = re.compile(r"alias\.([^=]+)=(.*)", re.DOTALL | re.IGNORECASE)
_BUILT_IN = frozenset(
    [
        "add",
        "am",
        "annotate",
        "apply",
        "archive",
        "bisect",
        "blame",
        "branch",
        "bundle",
        "cat-file",
        "check-attr",
        "check-ignore",
        "checkout",
        "cherry",
        "cherry-pick",
        "clean",
        "clone",
        "commit",
        "commit-graph",
        "commit-tree",
        "config",
        "count-objects",
        "credential",
        "describe",
        "diff",
        "diff-files",
        "diff-index",
        "diff-tree",
        "difftool",
        "fast-export",
        "fast-import",
        "fetch",
        "filter-branch",
        "for-each-ref",
        "format-patch",
        "fsck",
        "gc",
        "grep",
        "hash-object",
        "help",
        "init",
        "log",
        "ls-files",
        "ls-remote",
        "ls-tree",
        "merge",
        "merge-base",
        "merge-file",
        "merge-tree",
        "mergetool",
        "mv",
        "notes",
        "pack-refs",
        "prune",
        "pull",
        "push",
        "range-diff",
        "read-tree",
        "rebase",
        "reflog",
        "remote",
        "repack",
        "replace",
        "request-pull",
        "rerere",
        "reset",
        "restore",
        "rev-list",
        "rev-parse",
        "revert",
        "rm",
        "send-email",
        "shortlog",
        "show",
        "show-branch",
        "show-ref",
        "sparse-checkout",
        "stage",
        "stash",
        "status",
        "stripspace",
        "submodule",
        "subtree",
        "switch",
        "symbolic-ref",
        "tag",
        "update-index",
        "update-ref",
        "var",
        "verify-commit",
        "version",
        "whatchanged",
        "worktree",
        "write-tree",
        "lfs",
        "maintenance",
    ]
)


class GitCommand(NamedTuple):
    cwd: str
    """The folder that it acts in, after `-C`."""
    subcommand: str
    arguments: tuple[Word, ...]
    is_redirected: bool = False
    """Whether it acts on a repository that `--git-dir`, `--work-tree` or a variable names."""

    @property
    def text(self) -> str:
        words = (word if word is not None else "…" for word in self.arguments)
        return " ".join(["git", self.subcommand, *words])


class Options(NamedTuple):
    """Flags with their dashes, values of flags, operands before `--`, and paths after it."""

    flags: frozenset[str]
    values: dict[str, str]
    operands: tuple[Word, ...]
    paths: tuple[Word, ...]
    has_separator: bool

    def has(self, *names: str) -> bool:
        return not self.flags.isdisjoint(names)


def read_git_commands(command: ShellCommand) -> Iterator[GitCommand]:
    """The git commands that a simple command runs: one, or several for an alias that is a shell line."""
    if command.words and (command.words[0] or "").rpartition("/")[2] in ("git", "git.exe"):
        yield from _read_words(command, list(command.words[1:]), {}, 0)


def _read_words(
    command: ShellCommand, words: list[Word], aliases: dict[str, str], depth: int
) -> Iterator[GitCommand]:
    cwd, is_redirected = command.cwd, not {"GIT_DIR", "GIT_WORK_TREE"}.isdisjoint(command.variables)
    while words and (option := words[0]) is not None and option.startswith("-"):
        words.pop(0)
        name, equals, value = option.partition("=")
        if name in _VALUED_OPTIONS and not equals:
            value = (words.pop(0) if words else "") or ""
        if name == "-C":
            cwd = os.path.normpath(join_folder(cwd, value))
        elif name == "-c" and (match := _ALIAS.fullmatch(value)):
            aliases[match[1]] = match[2]
        is_redirected |= name in ("--git-dir", "--work-tree")
    if not words or words[0] is None:
        return
    subcommand, rest = words[0], words[1:]
    alias = aliases.get(subcommand) or ("" if subcommand in _BUILT_IN else _find_alias(cwd, subcommand))
    if not alias or depth >= MAX_DEPTH:
        yield GitCommand(cwd, subcommand, tuple(rest), is_redirected)
    elif alias.startswith("!"):
        line = " ".join([alias[1:], *(shlex.quote(word) for word in rest if word is not None)])
        for inner in parse_line(line, cwd).commands:
            if inner.words and (inner.words[0] or "").rpartition("/")[2] == "git":
                yield from _read_words(inner, list(inner.words[1:]), aliases, depth + 1)
    else:
        yield from _read_words(command._replace(cwd=cwd), [*_split_alias(alias), *rest], aliases, depth + 1)


def _split_alias(alias: str) -> list[str]:
    try:
        return shlex.split(alias)
    except ValueError:
        return alias.split()


def _find_alias(cwd: str, name: str) -> str:
    try:
        return run_git("config", "--get", f"alias.{name}", folder=cwd)
    except GitFailed:
        return ""


def parse_options(arguments: Collection[Word], valued: str = "") -> Options:
    """Split the arguments. `valued` lists flags that take a value, such as `-m --message`."""
    takes_value, flags, values = frozenset(valued.split()), set[str](), dict[str, str]()
    operands, paths, waiting = list[Word](), list[Word](), list(arguments)
    has_separator = False
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            has_separator, paths = True, waiting
            break
        if word is None or not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        for flag, value in _read_flag(word, takes_value):
            flags.add(flag)
            if flag in takes_value:
                values[flag] = value if value is not None else (waiting.pop(0) if waiting else "") or ""
            elif value is not None:
                values[flag] = value
    return Options(frozenset(flags), values, tuple(operands), tuple(paths), has_separator)


def _read_flag(word: str, takes_value: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """The flags of one word: `-am` is two, `-mtext` is one with a value."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        yield name, value if equals else None
        return
    for index, letter in enumerate(word[1:], start=1):
        flag = f"-{letter}"
        if flag in takes_value:
            yield flag, word[index + 1 :] or None
            return
        yield flag, None
