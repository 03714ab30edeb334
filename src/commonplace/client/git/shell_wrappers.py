"""Programs that run another program: `env`, `sudo`, `timeout`, `xargs`, `find -exec`, `bash -c`.

`unwrap_command` returns what is really run: simple commands, and lines that an inner shell reads.
"""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from commonplace.client.git.shell_words import Word, join_folder

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})


class FileSearch(NamedTuple):
    """Which files a command finds: those below the folders; with patterns, only if a name in their path matches one."""

    folders: tuple[str, ...]
    patterns: tuple[str, ...] = ()


class ShellCommand(NamedTuple):
    """One program with its arguments, the folder that it runs in, and the files that its output is redirected to."""

    words: tuple[Word, ...]
    cwd: str
    variables: dict[str, str]
    redirects: tuple[str, ...] = ()
    is_conditional: bool = False
    """Whether it stands in a branch or in a function, so that it may not be run."""
    stdin_text: str = ""
    stdin_file: str = ""
    searched: FileSearch | None = None
    """What the unknown words at its end are, where `find` names them."""

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return (self.words[0] or "").rpartition("/")[2] if self.words else ""


class Unwrapped(NamedTuple):
    commands: list[ShellCommand]
    lines: list[str]
    """What an inner shell reads, in the folder of the last command."""


class _Wrapper(NamedTuple):
    flags: str = ""
    """Its one-letter flags that take a value."""
    operands: int = 0
    """How many operands of its own stand before the program."""
    long_flags: str = ""


_WRAPPERS = {
    "builtin": _Wrapper(),
    "caffeinate": _Wrapper("tw"),
    "chronic": _Wrapper(),
    "chroot": _Wrapper("", 1),
    "command": _Wrapper(),
    "coproc": _Wrapper(),
    "doas": _Wrapper("uC"),
    "env": _Wrapper("uC", 0, "--unset --chdir"),
    "exec": _Wrapper("a"),
    "flock": _Wrapper("wE", 1, "--timeout --conflict-exit-code"),
    "ionice": _Wrapper("cn", 0, "--class --classdata"),
    "ltrace": _Wrapper("eopsu"),
    "nice": _Wrapper("n", 0, "--adjustment"),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper("ioe", 0, "--input --output --error"),
    "strace": _Wrapper("eopsuEISaXP"),
    "sudo": _Wrapper("ugCDhpRrTtU", 0, "--user --group --chdir --host --prompt --role --type --close-from"),
    "taskset": _Wrapper("", 1),
    "time": _Wrapper("fo", 0, "--format --output"),
    "timeout": _Wrapper("ks", 1, "--kill-after --signal"),
    "unbuffer": _Wrapper(),
    "unshare": _Wrapper("SGR"),
    "xargs": _Wrapper("InPLdsEa", 0, "--replace --max-args --max-procs --max-lines --delimiter --arg-file"),
    "xvfb-run": _Wrapper("nefpsw", 0, "--server-num --error-file --server-args"),
}
_LINE_FLAGS = {
    "flock": ("-c", "--command"),
    "nix-shell": ("--run", "--command"),
    "script": ("-c", "--command"),
    "su": ("-c", "--command"),
}
# Runners of a project's programs; they are kept as they are unless they run git or a shell.
_RUNNERS = (
    ("bundle", "exec"),
    ("conda", "run"),
    ("doppler", "run"),
    ("hatch", "run"),
    ("mise", "exec"),
    ("npm", "exec"),
    ("op", "run"),
    ("pdm", "run"),
    ("pipenv", "run"),
    ("pnpm", "exec"),
    ("poetry", "run"),
    ("uv", "run"),
)
_EXEC_FLAGS = ("-exec", "-execdir", "-ok", "-okdir")


def unwrap_command(command: ShellCommand) -> Unwrapped:
    """The programs that a command runs, with the lines that it hands to a shell."""
    for _ in range(len(command.words)):
        name = command.program
        if lines := _list_lines(command, name):
            return Unwrapped([command], lines)
        if name == "busybox":
            command = command._replace(words=command.words[1:])
        elif name == "parallel":
            return Unwrapped([_unwrap_parallel(command)], [])
        elif name in _WRAPPERS:
            command = _strip_wrapper(command, name)
        elif inner := _strip_runner(command.words):
            command = command._replace(words=inner)
        else:
            break
    if command.program == "find":
        return Unwrapped(list(_unwrap_find(command)), [])
    return Unwrapped([command], [])


def _list_lines(command: ShellCommand, name: str) -> list[str]:
    """The lines that this command runs in a shell: `bash -c`, `script -c`, `trap`, `watch`."""
    words, lines = command.words, list[Word]()
    if name in SHELLS:
        script, file = read_shell_words(words)
        lines = [script or ("" if file else command.stdin_text)]
    elif name in _LINE_FLAGS:
        flags = _LINE_FLAGS[name]
        lines = [line for flag, line in pairwise(words) if flag in flags or _ends_in_line_flag(flag, name)]
    elif name == "trap" and len(words) > 2:  # noqa: PLR2004 - the line and a signal
        lines = [words[1]]
    elif name == "hyperfine":
        lines = [word for word in words[1:] if word and " " in word]
    elif name == "watch":
        lines = [_join_known(_skip_flags(words[1:], _Wrapper("nq", 0, "--interval")))]
    elif name == "env":
        lines = [_find_split_string(words)]
    return [line for line in lines if line]


def _ends_in_line_flag(flag: Word, name: str) -> bool:
    """`script -qc LINE`."""
    return name in ("script", "su") and flag is not None and re.fullmatch(r"-[a-z]+c", flag) is not None


def read_shell_words(words: Sequence[Word]) -> tuple[str, str]:
    """The line after `-c`, also in `bash -euxo pipefail -c`, or else the file that the shell reads."""
    takes_line, waiting = False, list(words[1:])
    while waiting:
        word = waiting.pop(0)
        if word is None:
            return "", ""
        if word in ("--rcfile", "--init-file") or re.fullmatch(r"[-+][a-zA-Z]*[oO]", word):
            del waiting[:1]
        if word.startswith("-") and not word.startswith("--"):
            takes_line |= "c" in word
        elif not word.startswith(("-", "+")):
            return (word, "") if takes_line else ("", word)
    return "", ""


def _find_split_string(words: Sequence[Word]) -> str:
    """The line in `env -S LINE`."""
    for index, word in enumerate(words[1:], start=1):
        if word in ("-S", "--split-string"):
            return _join_known(words[index + 1 :])
        if word and word.startswith(("-S", "--split-string=")):
            line = word.removeprefix("--split-string=").removeprefix("-S")
            return _join_known([line, *words[index + 1 :]])
        if word is None or not word.startswith("-"):
            return ""
    return ""


def _join_known(words: Sequence[Word]) -> str:
    return " ".join(word for word in words if word is not None)


def _strip_wrapper(command: ShellCommand, name: str) -> ShellCommand:
    """The command without `env`, `sudo` or their like, their flags and operands."""
    wrapper, waiting = _WRAPPERS[name], list(command.words[1:])
    cwd, variables, searched, placeholder = command.cwd, dict(command.variables), command.searched, ""
    while waiting:
        word = waiting[0]
        if name in ("env", "sudo") and len(waiting) > 1 and (word is None or _is_assignment(word)):
            variable, _, value = (word or "").partition("=")
            variables[variable] = value
        elif word is None or not word.startswith("-"):
            break
        elif word == "--":
            waiting.pop(0)
            break
        else:
            flag, value = _read_wrapper_flag(waiting, wrapper)
            if (name, flag) in (("env", "-C"), ("env", "--chdir"), ("sudo", "-D"), ("sudo", "--chdir")):
                cwd = os.path.normpath(join_folder(cwd, value))
            if name == "xargs" and flag in ("-I", "-i", "--replace"):
                placeholder = value or "{}"
        waiting.pop(0)
    del waiting[: wrapper.operands]
    if name == "xargs":
        waiting = _feed_words(waiting, placeholder)
    return command._replace(words=tuple(waiting), cwd=cwd, variables=variables, searched=searched)


def _read_wrapper_flag(waiting: list[Word], wrapper: _Wrapper) -> tuple[str, str]:
    """The flag that is the first of these words, and its value; the value's own word is removed."""
    word = waiting[0] or ""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
        if not equals and flag in wrapper.long_flags.split() and len(waiting) > 1:
            value = waiting.pop(1) or ""
        return flag, value
    flag, value = word[:2], word[2:]
    if not value and flag[1:] in wrapper.flags and len(waiting) > 1:
        value = waiting.pop(1) or ""
    return flag, value


def _feed_words(words: list[Word], placeholder: str) -> list[Word]:
    """What `xargs` runs: unknown words take the place of `{}`, or stand at the end."""
    if not placeholder:
        return [*words, None] if words else ["echo", None]
    return [None if word and placeholder in word else word for word in words]


def _is_assignment(word: str) -> bool:
    return re.match(r"[A-Za-z_]\w*=", word) is not None


def _skip_flags(words: Sequence[Word], wrapper: _Wrapper) -> list[Word]:
    waiting = list(words)
    while waiting and (word := waiting[0]) is not None and word.startswith("-"):
        _read_wrapper_flag(waiting, wrapper)
        waiting.pop(0)
    return waiting


def _strip_runner(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """What `uv run`, `poetry run` and their like run, if it is git or a shell."""
    if words[:2] not in _RUNNERS:
        return ()
    inner = tuple(_skip_flags(words[2:], _Wrapper()))
    program = (inner[0] or "").rpartition("/")[2] if inner else ""
    return inner if program == "git" or program in SHELLS else ()


def _unwrap_parallel(command: ShellCommand) -> ShellCommand:
    """`parallel PROGRAM ::: WORDS`: the words are handed out, so what each run gets is unknown."""
    words = _skip_flags(command.words[1:], _Wrapper("jnNSa", 0, "--jobs --max-args"))
    end = next((index for index, word in enumerate(words) if word and word.startswith(":::")), len(words))
    given = words[end + 1 :]
    return command._replace(words=(*words[:end], given[0] if len(given) == 1 else None))


def _unwrap_find(command: ShellCommand) -> Iterator[ShellCommand]:
    """`find` itself if it deletes or only lists, else what it runs on the files that it finds."""
    words = command.words
    command = command._replace(searched=read_search(command))
    starts = [index for index, word in enumerate(words) if word in _EXEC_FLAGS]
    for start in starts:
        end = next((at for at in range(start, len(words)) if words[at] in (";", "+")), len(words))
        executed = [None if word and "{}" in word else word for word in words[start + 1 : end]]
        yield from unwrap_command(command._replace(words=tuple(executed))).commands
    if not starts or "-delete" in words:
        yield command


def read_search(command: ShellCommand) -> FileSearch | None:
    """Where `find` looks, and for which names; None if it can find no file that has content."""
    words = command.words[1:]
    if "-empty" in words:
        return None
    end = next(
        (index for index, word in enumerate(words) if word and (word[0] in "-(!" or word == "\\(")),
        len(words),
    )
    folders = [join_folder(command.cwd, word or ".") for word in words[:end] or (".",)]
    names = [value for flag, value in pairwise(words) if flag in ("-name", "-iname") and value is not None]
    is_negated = not {"!", "-not"}.isdisjoint(words)
    return FileSearch(tuple(map(os.path.normpath, folders)), () if is_negated else tuple(names))
