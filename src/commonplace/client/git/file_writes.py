"""Which files a shell command writes, where their paths stand in the command: redirections, sed -i, mv, formatters."""

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from commonplace.client.companion.payload import list_patched_files
from commonplace.client.git.git_command import GitCommand, Options, parse_options, read_git_commands
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.script_files import read_inline_program
from commonplace.client.git.shell_words import Word, join_folder
from commonplace.client.git.shell_wrappers import FileSearch, ShellCommand

_MAX_PATHS = 200
_PATCHERS = ("apply_patch", "applypatch")
# In a program of another language that stands in the command: calls that write the file that they name.
_WRITTEN_LITERAL = re.compile(
    r"""\bopen\(\s*["']([^"']+)["']\s*,\s*(?:mode\s*=\s*)?["'][rb]*[wax+]"""
    r"""|\bPath\(\s*["']([^"']+)["']\s*\)\.(?:write_text|write_bytes|unlink|rename|replace)\("""
    r"""|\b(?:os\.(?:remove|unlink|truncate)|shutil\.rmtree|(?:(?:write|append)File|unlink)(?:Sync)?|rmSync|File\.write)"""
    r"""\(\s*["']([^"']+)["']"""
)
_WRITES_FILES = re.compile(
    r"\b(?:write_text|write_bytes|(?:write|append)File|unlink|rmtree|rename)\w*\("
    r"|\bos\.remove\(|\bopen\([^)]*,\s*(?:mode\s*=\s*)?[\"'][rb]*[wax+]|File\.write"
)
_REMOVING = ("mv", "rm", "shred", "unlink")
_DISCARDED = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


class FileSweep(NamedTuple):
    """Files that a command writes or deletes without naming each; without a search it may be any file."""

    cwd: str
    search: FileSearch | None


def list_written_by_line(commands: Sequence[ShellCommand], line: str) -> tuple[str, ...]:
    """The paths that the commands of a line write, each once."""
    paths: list[str] = []
    for command in commands:
        paths += list_written_paths(command) + list_patched_paths(command, line)
        for git in read_git_commands(command):
            paths += list_paths_written_by_git(git)
    return tuple(dict.fromkeys(paths))


def list_removed_by_line(commands: Sequence[ShellCommand]) -> tuple[str, ...]:
    """The paths that the commands of a line delete or move away."""
    removing = [command._replace(redirects=()) for command in commands if command.program in _REMOVING]
    return tuple(dict.fromkeys(path for command in removing for path in list_written_paths(command)))


def list_sweeps(commands: Sequence[ShellCommand]) -> tuple[FileSweep, ...]:
    return tuple(sweep for command in commands if (sweep := _find_sweep(command)))


def _find_sweep(command: ShellCommand) -> FileSweep | None:
    """`find -delete`, `xargs rm`, `rm "$FILES"` and `patch < FILE` do not say which files they write."""
    if command.program == "find":
        return (
            FileSweep(command.cwd, command.searched)
            if "-delete" in command.words and command.searched
            else None
        )
    if command.program == "patch":
        return None if "--dry-run" in command.words else FileSweep(command.cwd, None)
    if _WRITES_FILES.search(read_inline_program(command)):
        return FileSweep(command.cwd, None)
    if None not in command.words[1:] or command.program not in _PROGRAMS:
        return None
    # The program writes what it is given: with a name in the place of the unknown word it would write that.
    words = tuple("…" if word is None else word for word in command.words)
    is_written = any("…" in path for path in list_written_paths(command._replace(words=words, redirects=())))
    return FileSweep(command.cwd, command.searched) if is_written else None


def list_written_paths(command: ShellCommand) -> list[str]:
    """Absolute paths, or paths from the command's folder joined with it; a pattern is expanded."""
    words = _strip_runner(list(command.words))
    read_writes = _PROGRAMS.get((words[0] or "").rpartition("/")[2]) if words else None
    named = list(command.redirects) + (read_writes(words[1:]) if read_writes else [])
    if inline := read_inline_program(command):
        named += [path for match in _WRITTEN_LITERAL.finditer(inline) for path in match.groups() if path]
    return _resolve_paths(command.cwd, named)


def list_patched_paths(command: ShellCommand, line: str) -> list[str]:
    """What `apply_patch` changes, which Codex also carries out in its shell tool; the patch stands in the line."""
    program = (command.words[0] or "").rpartition("/")[2] if command.words else ""
    if program not in _PATCHERS:
        return []
    return _resolve_paths(command.cwd, list_patched_files({"command": line}))


def list_paths_written_by_git(command: GitCommand) -> list[str]:
    """What `git rm`, `git mv` and `git apply` change in the working tree."""
    if command.subcommand == "apply":
        return _list_applied(command)
    if command.subcommand not in ("rm", "mv"):
        return []
    options = parse_options(command.arguments)
    if options.has("--cached", "-n", "--dry-run"):
        return []
    return _resolve_paths(command.cwd, _known((*options.operands, *options.paths)))


def _list_applied(command: GitCommand) -> list[str]:
    """The files of a patch that is applied from a file, as git itself reads it."""
    options = parse_options(command.arguments, "-p -C --directory --exclude --include --whitespace")
    if options.has("--check", "--stat", "--numstat", "--summary", "--cached"):
        return []
    patches = _known((*options.operands, *options.paths))
    if command.shell and command.shell.stdin_file and not patches:
        patches = [command.shell.stdin_file]
    if not patches:
        return []
    try:
        output = run_git("apply", "--numstat", "-z", *patches, folder=command.cwd)
    except GitFailed:
        return []
    names = [line.rpartition("\t")[2] for line in output.split("\0") if line]
    return _resolve_paths(command.cwd, names)


def _strip_runner(words: list[Word]) -> list[Word]:
    """The program that `npx`, `uv run` or `python -m` runs."""
    for runner in _RUNNERS:
        if words[: len(runner)] == list(runner) and len(words) > len(runner):
            return words[len(runner) :]
    return words


def _resolve_paths(cwd: str, named: Sequence[str]) -> list[str]:
    paths: list[str] = []
    for path in named:
        if path in _DISCARDED or path.startswith("/dev/fd/"):
            continue
        joined = join_folder(cwd, path)
        matches = glob.glob(joined) if any(letter in path for letter in "*?[") else []  # noqa: PTH207 - text
        paths += matches or [joined]
    return list(dict.fromkeys(paths))[:_MAX_PATHS]


def _known(words: Iterable[Word]) -> list[str]:
    return [word for word in words if word]


def _operands(valued: str = "", needs: Sequence[str] = ()) -> Callable[[Sequence[Word]], list[str]]:
    """Every operand is written; if `needs` names flags, only with one of them."""

    def read(words: Sequence[Word]) -> list[str]:
        options = parse_options(words, valued)
        if needs and not options.has(*needs):
            return []
        return _known((*options.operands, *options.paths))

    return read


def _sed(words: Sequence[Word]) -> list[str]:
    """`sed -i SCRIPT FILE...`; with -e or -f every operand is a file."""
    options = parse_options(words, "-e -f -l --expression --file --line-length")
    if not any(flag in ("-i", "--in-place") for flag in options.flags):
        return []
    operands = (*options.operands, *options.paths)
    has_script = options.has("-e", "-f", "--expression", "--file")
    return _known(operands if has_script else operands[1:])


def _perl(words: Sequence[Word]) -> list[str]:
    """perl and ruby."""
    options = parse_options(words, "-e -E -M -I -r")
    return _known(options.operands) if options.has("-i") else []


def _awk(words: Sequence[Word]) -> list[str]:
    """`gawk -i inplace PROGRAM FILE...`."""
    options = parse_options(words, "-i -v -f -F --include --assign --file")
    if "inplace" not in (options.values.get("-i"), options.values.get("--include")):
        return []
    return _known(options.operands if options.has("-f", "--file") else options.operands[1:])


def _ex(words: Sequence[Word]) -> list[str]:
    """`ex`, and vim without a screen."""
    options = parse_options(words, "-c -S -u -T --cmd")
    return _known(word for word in options.operands if word and not word.startswith("+"))


def _output(*flags: str) -> Callable[[Sequence[Word]], list[str]]:
    """The file that follows one of these flags."""

    def read(words: Sequence[Word]) -> list[str]:
        options = parse_options(words, " ".join(flags))
        return [options.values[flag] for flag in flags if options.values.get(flag)]

    return read


def _whole_folder(verb: str) -> Callable[[Sequence[Word]], list[str]]:
    """`cargo fmt` and `go fmt` write every file of the folder."""

    def read(words: Sequence[Word]) -> list[str]:
        return ["."] if words[:1] == [verb] and "--check" not in words else []

    return read


def _copied_to(words: Sequence[Word]) -> list[str]:
    return _targets(parse_options(words, "-t --target-directory -S --suffix"))


def _targets(options: Options) -> list[str]:
    """Where `cp`, `install` or `ln` write: the last operand, or the files in it if it is a folder."""
    operands = _known((*options.operands, *options.paths))
    folder = options.values.get("-t") or options.values.get("--target-directory")
    if folder:
        return [f"{folder}/{path.rstrip('/').rpartition('/')[2]}" for path in operands]
    if len(operands) < 2:  # noqa: PLR2004 - a source and a target
        return []
    target, sources = operands[-1], operands[:-1]
    if target.endswith("/") or target in (".", "..") or len(sources) > 1:
        return [f"{target.rstrip('/')}/{path.rstrip('/').rpartition('/')[2]}" for path in sources]
    return [target]


def _moved(words: Sequence[Word]) -> list[str]:
    options = parse_options(words, "-t --target-directory -S --suffix")
    operands = _known((*options.operands, *options.paths))
    has_folder = options.has("-t", "--target-directory")
    return [*(operands if has_folder else operands[:-1]), *_targets(options)]


def _rsync(words: Sequence[Word]) -> list[str]:
    """The folder that is written, if it is on this machine."""
    operands = _known(parse_options(words, "-e --rsh --exclude --include --filter -f").operands)
    return [target for target in operands[1:][-1:] if ":" not in target]


def _dd(words: Sequence[Word]) -> list[str]:
    return [word.removeprefix("of=") for word in words if word and word.startswith("of=")]


def _ruff(words: Sequence[Word]) -> list[str]:
    """`ruff format PATH` and `ruff check --fix PATH`."""
    options = parse_options(words, "--config --select --ignore --line-length --target-version")
    operands = _known(options.operands)
    is_fixing = options.has("--fix", "--fix-only") and operands[:1] == ["check"]
    is_formatting = operands[:1] == ["format"] and not options.has("--check", "--diff")
    return (operands[1:] or ["."]) if is_fixing or is_formatting else []


def _unless_checking(valued: str = "") -> Callable[[Sequence[Word]], list[str]]:
    """A formatter that writes unless it is told to check only."""

    def read(words: Sequence[Word]) -> list[str]:
        options = parse_options(words, valued)
        if options.has("--check", "--check-only", "--diff", "-c", "--version", "--help"):
            return []
        return _known((*options.operands, *options.paths))

    return read


_PROGRAMS: dict[str, Callable[[Sequence[Word]], list[str]]] = {
    "autopep8": _operands("--select --ignore --max-line-length", ("-i", "--in-place")),
    "awk": _awk,
    "black": _unless_checking("-l --line-length -t --target-version --config"),
    "clang-format": _operands("--style", ("-i",)),
    "cargo": _whole_folder("fmt"),
    "cp": _copied_to,
    "curl": _output("-o", "--output"),
    "dd": _dd,
    "ed": _operands("-p"),
    "eslint": _operands("-c --config --ext", ("--fix",)),
    "ex": _ex,
    "gawk": _awk,
    "go": _whole_folder("fmt"),
    "gofmt": _operands("-r", ("-w",)),
    "goimports": _operands("", ("-w",)),
    "install": _copied_to,
    "isort": _unless_checking("--profile -l --line-length"),
    "ln": _copied_to,
    "mv": _moved,
    "perl": _perl,
    "prettier": _operands("--config --parser", ("--write", "-w")),
    "rm": _operands(),
    "rsync": _rsync,
    "ruby": _perl,
    "ruff": _ruff,
    "rustfmt": _unless_checking("--edition --config-path"),
    "sed": _sed,
    "shred": _operands("-n -s"),
    "sponge": _operands(),
    "tee": _operands(),
    "truncate": _operands("-s --size -r --reference"),
    "unlink": _operands(),
    "wget": _output("-O", "--output-document"),
}
_RUNNERS = (
    ("npx",),
    ("bunx",),
    ("uvx",),
    ("yarn",),
    ("uv", "run"),
    ("pnpm", "exec"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("python", "-m"),
    ("python3", "-m"),
)
WRITING_PROGRAMS = frozenset(_PROGRAMS)
