"""Which rules fire for something that is about to happen.

The facts are looked up when a rule asks for them, in the order of what they cost: names and paths, then the text, then
the parsed command line, then what `unless` asks.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Any

from commonplace.rules.command_pattern import CommandPattern, Word, matches_command, parse_pattern
from commonplace.rules.path_glob import matches_path
from commonplace.rules.rule import Rule
from commonplace.rules.shell_line import split_line

_HIDES_WORDS = str.maketrans("", "", "'\"\\")
_MAX_TEXT_CHARACTERS = 1_000_000
_GIT = re.compile(r"\bgit\b(?:\s+([a-z-]+))?")
# The common ones; git does not look for an alias of these names.
GIT_SUBCOMMANDS = frozenset(
    [
        "add", "blame", "branch", "checkout", "clone", "commit", "diff", "fetch", "grep", "init", "log", "ls-files",
        "merge", "pull", "push", "rebase", "remote", "reset", "restore", "rev-parse", "rm", "show", "stash", "status",
        "switch", "tag", "worktree",
    ]
)  # fmt: skip


class RuleFacts:
    """What is about to happen. Subclasses know more: `client/rules/` what runs beside an agent."""

    def __init__(
        self,
        on: str,
        *,
        tool: str = "",
        files: Sequence[str] = (),
        line: str = "",
        text: str = "",
        branch: str = "",
        role: str = "",
    ) -> None:
        self.on, self.tool, self.line = on, tool, line
        self._files, self._text, self._branch, self.role = files, text, branch, role

    @property
    def files(self) -> Sequence[str]:
        """The paths in the repository that it changes."""
        return self._files

    @property
    def text(self) -> str:
        """What an edit writes, a commit adds, a command line or a prompt says."""
        return self.line if self.on == "command" else self._text

    @property
    def branch(self) -> str:
        return self._branch

    @cached_property
    def commands(self) -> list[tuple[Word, ...]]:
        """The commands that a shell line runs, each as its words."""
        return [command.words for command in split_line(self.line, "/")]

    def has_run(self, patterns: Sequence[str], seconds: int) -> bool:
        """Whether such a command ran and succeeded within this time."""
        del patterns, seconds
        return False


def list_fired(rules: Iterable[Rule], facts: RuleFacts, now: str = "") -> list[Rule]:
    """The rules that fire, those that prevent first."""
    now = now or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    order = ("deny", "ask", "warn", "inject")
    fired = [
        rule
        for rule in rules
        if facts.on in rule.on
        and not rule.is_expired(now)
        and _matches(rule, facts)
        and not _is_excused(rule, facts)
    ]
    return sorted(fired, key=lambda rule: order.index(rule.do))


def _matches(rule: Rule, facts: RuleFacts) -> bool:
    return (
        (not rule.tools or any(fnmatchcase(facts.tool, tool) for tool in rule.tools))
        and (not rule.commands or _matches_line(rule.commands, facts))
        and (not rule.paths or any(matches_path(file, glob) for file in facts.files for glob in rule.paths))
        and (not rule.pattern or _finds_text(rule.pattern, facts.text))
    )


def _is_excused(rule: Rule, facts: RuleFacts) -> bool:
    if rule.roles and facts.role in rule.roles:
        return True
    if rule.branches and any(_matches_branch(facts.branch, glob) for glob in rule.branches):
        return True
    return bool(rule.ran) and facts.has_run(rule.ran, rule.within_seconds)


def _matches_branch(branch: str, glob: str) -> bool:
    """`!main` matches every other branch."""
    if glob.startswith("!"):
        return not fnmatchcase(branch, glob[1:])
    return bool(branch) and fnmatchcase(branch, glob)


def _matches_line(patterns: Sequence[str], facts: RuleFacts) -> bool:
    parsed = [_load_pattern(text) for text in patterns]
    near = [pattern for pattern in parsed if may_match(pattern, facts.line)]
    return any(matches_command(pattern, words) for pattern in near for words in facts.commands if words)


def may_match(pattern: CommandPattern, line: str) -> bool:
    """A quick look before the parser is loaded: whether the line names the program, or may hide its name."""
    if not pattern.literal_programs or "$" in line or "`" in line:
        return True
    plain = line.translate(_HIDES_WORDS)
    if not any(name in plain for name in pattern.literal_programs):
        return False
    subcommand = pattern.literal_subcommand
    if not subcommand or any(word in plain for word in subcommand):
        return True
    return "git" in pattern.program and not _names_own_subcommands(plain)


def _names_own_subcommands(line: str) -> bool:
    """Whether every git command of the line names a subcommand of git: others may be aliases."""
    return all(match[1] in GIT_SUBCOMMANDS for match in _GIT.finditer(line))


@cache
def _load_pattern(text: str) -> CommandPattern:
    return parse_pattern(text)


def _finds_text(pattern: str, text: str) -> bool:
    return _load_search(pattern)(text[:_MAX_TEXT_CHARACTERS]) is not None


@cache
def _load_search(pattern: str) -> Callable[[str], Any]:
    """RE2 matches in linear time; it is imported only where a rule has a pattern."""
    import re2  # noqa: PLC0415 - 7 ms, which few hooks need

    search: Callable[[str], Any] = re2.compile(pattern).search
    return search
