"""Finds the scripts that a command runs: shell scripts, recipes of make and just, scripts of package.json.

The gate reads those that mention git as it reads the command itself. Programs in other languages are not parsed; it is
only seen whether they call git in a way that can destroy changes.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.client.git.shell_words import Word, join_folder
from commonplace.client.git.shell_wrappers import SHELLS, ShellCommand, read_shell_words

_MAX_SCRIPT_BYTES = 100_000
_MAX_TARGETS = 30
_MAKE_FILES = ("GNUmakefile", "makefile", "Makefile")
_JUST_FILES = ("justfile", "Justfile", ".justfile")
_PACKAGE_PROGRAMS = ("npm", "pnpm", "yarn", "bun")
_PACKAGE_VALUES = ("--prefix", "-C", "--cwd", "--dir", "-w", "--workspace", "--filter", "-F")
_PACKAGE_SHORTHANDS = ("test", "t", "start", "stop", "restart")
_LANGUAGES = re.compile(r"(?:python|pypy)[\d.]*|node|deno|tsx|ts-node|ruby|perl|php")
_MAKE_VALUES = ("-C", "-f", "-I", "-j", "-l", "-o", "-W", "--directory", "--file", "--makefile")
_RULE = re.compile(r"^([^\s#:=][^#:=]*?)\s*::?(?!=)\s*([^#=]*)$")
_MAKE_VARIABLE = re.compile(r"\$[({](\w+)[)}]")
_MAKE_ASSIGNMENT = re.compile(r"^(?:export\s+)?(\w+)\s*[:?]{0,2}=\s*(.*)$", re.MULTILINE)
CALLS_GIT = re.compile(r"\bgit\b")
_DESTROYS = re.compile(
    r"\bgit\b\W{1,8}(?:-\S+\W+)*"
    r"(?:stash|reset|clean|checkout|restore|switch|rebase|merge|pull|read-tree|checkout-index|worktree)\b"
)


class Script(NamedTuple):
    text: str
    cwd: str
    is_shell: bool = True

    @property
    def may_destroy(self) -> bool:
        """Whether a program in another language calls git in a way that destroys changes."""
        return not self.is_shell and _DESTROYS.search(self.text) is not None


def list_scripts(command: ShellCommand) -> Iterator[Script]:
    """The scripts that the command runs and that mention git."""
    for script in _list_all(command):
        if CALLS_GIT.search(script.text):
            yield script


def _list_all(command: ShellCommand) -> Iterator[Script]:
    name = command.program
    if name in SHELLS:
        file = read_shell_words(command.words)[1] or ("" if command.stdin_text else command.stdin_file)
        yield from _read_script(file, command.cwd, is_shell=True)
    elif name in ("source", ".") and len(command.words) > 1:
        yield from _read_script(command.words[1] or "", command.cwd, is_shell=True)
    elif name in _PACKAGE_PROGRAMS:
        yield from _list_package_scripts(command)
    elif name in ("make", "gmake"):
        yield from _list_recipes(command)
    elif name == "just":
        yield from _list_just_recipes(command)
    elif _LANGUAGES.fullmatch(name):
        yield from _list_programs(command)
    elif command.words and "/" in (command.words[0] or ""):
        yield from _read_script(command.words[0] or "", command.cwd)


def _read_script(path: str, cwd: str, *, is_shell: bool = False) -> Iterator[Script]:
    """The text of a script; which language it is in says its first line, else its name."""
    text = _read_text(Path(join_folder(cwd, path))) if path else ""
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        is_shell |= any(re.search(rf"\b{name}\b", first) for name in SHELLS)
    else:
        is_shell |= path.endswith((".sh", ".bash")) or not Path(path).suffix
    yield Script(text, cwd, is_shell)


def _read_text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_SCRIPT_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _list_programs(command: ShellCommand) -> Iterator[Script]:
    """`python -c TEXT`, `node -e TEXT`, `python FILE`, and a program on standard input."""
    text = read_inline_program(command)
    if not text:
        files = [word for word in command.words[1:] if word and not word.startswith("-")]
        text = _read_text(Path(join_folder(command.cwd, files[0]))) if files else ""
    yield Script(text, command.cwd, is_shell=False)


def read_inline_program(command: ShellCommand) -> str:
    """The program in another language that stands in the command itself: after `-c` or `-e`, or on standard input."""
    if not _LANGUAGES.fullmatch(command.program):
        return ""
    words = command.words[1:]
    for index, word in enumerate(words):
        if word in ("-c", "-e", "--eval", "-p", "-pe", "-ne"):
            return (words[index + 1] if index + 1 < len(words) else "") or ""
        if word and not word.startswith("-"):
            return ""
    return command.stdin_text


def _list_package_scripts(command: ShellCommand) -> Iterator[Script]:
    words, values = _split_words(command.words[1:], _PACKAGE_VALUES)
    if words[:1] in (["run"], ["run-script"]):
        words = words[1:]
    elif words and command.program == "npm" and words[0] not in _PACKAGE_SHORTHANDS:
        return
    folder = next((value for flag, value in values if flag in ("--prefix", "-C", "--cwd", "--dir")), "")
    place = _find_above(Path(join_folder(command.cwd, folder or ".")), ("package.json",))
    if not words or place is None:
        return
    import json  # few commands run such scripts

    try:
        scripts = json.loads(_read_text(place) or "{}").get("scripts", {})
    except (ValueError, AttributeError):
        return
    name = "test" if words[0] == "t" else words[0]
    for each in (f"pre{name}", name, f"post{name}"):
        if isinstance(text := scripts.get(each), str):
            yield Script(text, str(place.parent))


def _find_above(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of these files in the folder or one above it, inside of the repository."""
    folder = Path(os.path.normpath(folder))
    for candidate in (folder, *folder.parents):
        for name in names:
            if (candidate / name).is_file():
                return candidate / name
        if (candidate / ".git").exists():
            return None
    return None


def _split_words(words: Sequence[Word], valued: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Operands, and flags that take a value."""
    operands: list[str] = []
    values: list[tuple[str, str]] = []
    waiting = [word for word in words if word is not None]
    while waiting:
        word = waiting.pop(0)
        flag, equals, value = word.partition("=")
        if word == "--":
            break
        if not word.startswith("-"):
            operands.append(word)
        elif flag in valued:
            values.append((flag, value if equals else (waiting.pop(0) if waiting else "")))
        elif word[:2] in valued and not word.startswith("--"):
            values.append((word[:2], word[2:]))
    return operands, values


def _list_recipes(command: ShellCommand) -> Iterator[Script]:
    """The recipes of the targets, and of what they need, with make's own variables put in."""
    targets, values = _split_words(command.words[1:], _MAKE_VALUES)
    folder = join_folder(
        command.cwd, next((value for flag, value in values if flag in ("-C", "--directory")), ".")
    )
    named = next((value for flag, value in values if flag in ("-f", "--file", "--makefile")), "")
    places = [Path(join_folder(folder, name)) for name in ((named,) if named else _MAKE_FILES)]
    text = next((text for place in places if (text := _read_text(place))), "")
    if not CALLS_GIT.search(text):
        return
    needs, recipes = _parse_rules(text)
    variables = dict(_MAKE_ASSIGNMENT.findall(text))
    waiting = [word for word in targets if "=" not in word] or [
        name for name in needs if not name.startswith(".")
    ][:1]
    seen: list[str] = []
    while waiting and len(seen) < _MAX_TARGETS:
        target = waiting.pop(0)
        if target not in seen:
            seen.append(target)
            waiting += needs.get(target, [])
    for target in seen:
        for line in recipes.get(target, []):
            yield Script(_expand_recipe(line, variables), os.path.normpath(folder))


def _parse_rules(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """What each target needs, and its recipe."""
    needs: dict[str, list[str]] = {}
    recipes: dict[str, list[str]] = {}
    names: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for name in names:
                recipes.setdefault(name, []).append(line.strip())
        elif match := _RULE.match(line):
            names = match[1].split()
            for name in names:
                needs.setdefault(name, []).extend(match[2].partition(";")[0].split())
    return needs, recipes


def _expand_recipe(line: str, variables: dict[str, str]) -> str:
    for _ in range(3):
        line = _MAKE_VARIABLE.sub(lambda match: variables.get(match[1], match[0]), line)
    return line.lstrip("@-+ ").replace("$$", "$")


def _list_just_recipes(command: ShellCommand) -> Iterator[Script]:
    targets, _values = _split_words(command.words[1:], ("-f", "--justfile", "-d", "--working-directory"))
    place = _find_above(Path(command.cwd), _JUST_FILES)
    if place is None:
        return
    for target in targets[:1]:
        match = re.search(
            rf"^@?{re.escape(target)}\b[^\n=]*:[^\n=]*\n((?:[ \t]+[^\n]*\n?|\n)*)",
            _read_text(place),
            re.MULTILINE,
        )
        if match:
            lines = (line.strip().lstrip("@-") for line in match[1].splitlines())
            yield Script("\n".join(lines), str(place.parent))
