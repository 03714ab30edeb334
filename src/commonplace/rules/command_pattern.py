"""Patterns of commands: `git push --force|-f` is a program, its subcommand and flags that must all be there.

Words are compared with those of a parsed command line (`shell_line.py`), so that quotes, wrappers such as
`sudo` and `env`, and the order of flags do not matter. `|` separates alternatives, `*` stands for any characters of a
word, and `...` for any words.
"""

import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

Word = str | None

ANY_WORDS = "..."
_SHORTEST_ABBREVIATION = 5
_NOT_IN_A_PATTERN = set(";&<>`$\n")


class CommandPattern(NamedTuple):
    program: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    """The subcommand and what follows it: alternatives for each word."""
    flags: tuple[tuple[str, ...], ...]

    @property
    def literal_programs(self) -> tuple[str, ...]:
        """Texts of which a line must contain one for the pattern to match; empty if that cannot be said."""
        return () if any(set("*?[") & set(name) for name in self.program) else self.program

    @property
    def literal_subcommand(self) -> tuple[str, ...]:
        """Texts of which a line contains one unless the subcommand is an alias; empty if that cannot be said."""
        first = self.words[0] if self.words else ()
        return () if first == (ANY_WORDS,) or any(set("*?[") & set(name) for name in first) else first


def parse_pattern(text: str) -> CommandPattern:
    """Raises ValueError with what is wrong."""
    if found := sorted(_NOT_IN_A_PATTERN & set(text)):
        raise ValueError(f"'{text}' contains {' '.join(found)!r}: name one program, not a shell line")
    words = shlex.split(text)
    if not words or words[0].startswith("-") or words[0] == ANY_WORDS:
        raise ValueError(f"'{text}' names no program")
    rest = [tuple(word.split("|")) for word in words[1:]]
    for alternatives in rest:
        if len({alternative.startswith("-") for alternative in alternatives}) > 1 or "" in alternatives:
            raise ValueError(f"'{'|'.join(alternatives)}' mixes flags with words")
    return CommandPattern(
        tuple(words[0].split("|")),
        tuple(word for word in rest if not word[0].startswith("-")),
        tuple(word for word in rest if word[0].startswith("-")),
    )


def matches_command(pattern: CommandPattern, words: Sequence[Word]) -> bool:
    """Whether these words, the program first, are of the pattern. Unknown words (None) match nothing but `...`."""
    program = _program_name(words[0]) if words else ""
    if not program or not any(fnmatchcase(program, wanted) for wanted in pattern.program):
        return False
    arguments = list(words[1:])
    present = _list_flags(arguments)
    may_abbreviate = program == "git"
    if not all(_has_flag(present, wanted, may_abbreviate=may_abbreviate) for wanted in pattern.flags):
        return False
    return _matches_operands(_list_operands(arguments), pattern.words)


def _program_name(word: Word) -> str:
    name = (word or "").replace("\\", "/").rpartition("/")[2]
    return name.removesuffix(".exe")


def _list_flags(arguments: Sequence[Word]) -> set[str]:
    """Every flag, `-rf` also as `-r` and `-f`, `--name=value` as `--name`."""
    flags: set[str] = set()
    for word in arguments:
        if word == "--":
            break
        if word is None or not word.startswith("-") or word == "-":
            continue
        flags.add(word.partition("=")[0])
        if not word.startswith("--"):
            flags |= {f"-{letter}" for letter in word[1:]}
    return flags


def _has_flag(present: set[str], wanted: Sequence[str], *, may_abbreviate: bool) -> bool:
    if any(fnmatchcase(flag, name) for flag in present for name in wanted):
        return True
    return may_abbreviate and any(
        len(flag) >= _SHORTEST_ABBREVIATION and name.startswith(flag)
        for flag in present
        if flag.startswith("--")
        for name in wanted
    )


class _Operand(NamedTuple):
    word: Word
    may_be_value: bool
    """Whether a flag stands before it, whose value it may be."""


def _list_operands(arguments: Sequence[Word]) -> list[_Operand]:
    operands, after_flag, has_separator = list[_Operand](), False, False
    for word in arguments:
        if word == "--" and not has_separator:
            has_separator, after_flag = True, False
        elif word is not None and word.startswith("-") and word != "-" and not has_separator:
            after_flag = "=" not in word
        else:
            operands.append(_Operand(word, after_flag))
            after_flag = False
    return operands


def _matches_operands(operands: Sequence[_Operand], wanted: Sequence[tuple[str, ...]]) -> bool:
    """Whether `wanted` stands at the beginning; the values of flags between are skipped, since nobody lists them."""
    reached = {0}
    for alternatives in wanted:
        if alternatives == (ANY_WORDS,):
            reached = set(range(min(reached), len(operands) + 1))
            continue
        starts = _skip_values(reached, operands)
        reached = {
            at + 1 for at in starts if at < len(operands) and _matches_word(operands[at].word, alternatives)
        }
        if not reached:
            return False
    return True


def _skip_values(reached: set[int], operands: Sequence[_Operand]) -> set[int]:
    starts = set(reached)
    for at in range(min(reached), len(operands)):
        if at in starts and operands[at].may_be_value:
            starts.add(at + 1)
    return starts


def _matches_word(word: Word, alternatives: Sequence[str]) -> bool:
    return word is not None and any(fnmatchcase(word, wanted) for wanted in alternatives)
