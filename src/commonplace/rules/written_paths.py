"""Which files a simple command writes, where their paths stand in it: redirections, sed -i, mv, rm, formatters."""

import glob
import os
import re
from collections.abc import Iterable, Sequence

from commonplace.rules.shell_line import SimpleCommand, Word

_MAX_PATHS = 200
_DISCARDED = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_ALWAYS = frozenset(
    {"mv", "rm", "rmdir", "shred", "sponge", "tee", "truncate", "unlink", "rustfmt", "isort", "black"}
)
_WITH_FLAG = {
    "autopep8": ("-i", "--in-place"), "clang-format": ("-i",), "eslint": ("--fix",), "gofmt": ("-w",), "goimports": ("-w",),
    "prettier": ("--write", "-w"), "perl": ("-i", "-pi"), "ruby": ("-i", "-pi"), "sed": ("-i", "--in-place"),
}  # fmt: skip
"""Programs that write their operands with one of these flags only."""
_LAST_OPERAND = frozenset({"cp", "install", "ln", "rsync"})
_LOOKS_ONLY = ("--check", "--diff", "-n", "--dry-run", "--check-only")
_SCRIPT_FIRST = frozenset({"sed", "perl", "ruby"})
_VALUED = {
    "truncate": ("-s", "--size", "-r"),
    "black": ("-l", "-t"),
    "sed": ("-e", "-f"),
    "perl": ("-e", "-pe"),
    "dd": (),
}
_RUNNERS = (("npx",), ("bunx",), ("uvx",), ("yarn",), ("python", "-m"), ("python3", "-m"), ("uv", "run"))


def list_written_paths(command: SimpleCommand) -> list[str]:
    """Absolute paths; a pattern is expanded."""
    words = list(command.words)
    for runner in _RUNNERS:
        if tuple(words[: len(runner)]) == runner and len(words) > len(runner):
            words = words[len(runner) :]
    named = [*command.redirects, *command.appends, *_list_named(words)]
    paths: list[str] = []
    for path in named:
        if path in _DISCARDED or path.startswith("/dev/fd/"):
            continue
        joined = os.path.normpath(os.path.join(command.cwd, os.path.expanduser(path)))  # noqa: PTH111, PTH118 - a text
        matches = glob.glob(joined) if set(path) & set("*?[") else []  # noqa: PTH207 - text
        paths += matches or [joined]
    return list(dict.fromkeys(paths))[:_MAX_PATHS]


def _list_named(words: Sequence[Word]) -> list[str]:
    program = (words[0] or "").rpartition("/")[2] if words else ""
    flags = [word for word in words[1:] if word and word.startswith("-")]
    operands = list(_list_operands(program, words[1:]))
    only_looks = not {"--cached", *_LOOKS_ONLY}.isdisjoint(flags)
    found: list[str] = []
    if program == "git" and operands[:1] in (["rm"], ["mv"]) and not only_looks:
        found = operands[1:]
    elif program == "dd":
        found = [word[3:] for word in operands if word.startswith("of=")]
    elif program == "ruff" and (operands[:1] == ["format"] or "--fix" in flags) and not only_looks:
        found = operands[1:]
    elif program in _WITH_FLAG:
        has_script = any(flag in ("-e", "-f", "-pe") or flag.endswith("e") for flag in flags)
        writes = any(flag.startswith(wanted) for flag in flags for wanted in _WITH_FLAG[program])
        found = operands[1 if program in _SCRIPT_FIRST and not has_script else 0 :] if writes else []
    elif program in _LAST_OPERAND:
        found = _list_targets(operands)
    elif program in _ALWAYS and not only_looks:
        found = operands[:-1] + _list_targets(operands) if program == "mv" else operands
    return found


def _list_targets(operands: Sequence[str]) -> list[str]:
    """Where the last operand is a folder, the files in it."""
    if len(operands) < 2:  # noqa: PLR2004 - a source and a target
        return []
    target = operands[-1]
    is_folder = target.endswith("/") or len(operands) > 2  # noqa: PLR2004 - several sources
    return [os.path.join(target, os.path.basename(each)) for each in operands[:-1]] if is_folder else [target]  # noqa: PTH118, PTH119


def _list_operands(program: str, words: Iterable[Word]) -> Iterable[str]:
    takes_value = is_separated = False
    for word in words:
        if takes_value:
            takes_value = False
        elif word == "--" and not is_separated:
            is_separated = True
        elif word and word.startswith("-") and not is_separated:
            takes_value = word in _VALUED.get(program, ()) or (re.fullmatch(r"-[a-z]*e", word) is not None and program in _SCRIPT_FIRST)  # fmt: skip
        elif word:
            yield word
