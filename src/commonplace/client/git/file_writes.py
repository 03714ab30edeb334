"""Which files a shell command writes, where their paths stand in the command: redirections, sed -i, mv, formatters."""

import glob
from collections.abc import Callable, Sequence

from commonplace.client.git.git_command import GitCommand, Options, parse_options
from commonplace.client.git.shell_parser import ShellCommand, Word, join_folder
from commonplace.client.hooks.patch import list_patched_files

_MAX_PATHS = 200
_PATCHERS = ("apply_patch", "applypatch")
_DISCARDED = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


def list_written_paths(command: ShellCommand) -> list[str]:
    """Absolute paths, or paths from the command's folder joined with it; a pattern is expanded."""
    words = _strip_runner(list(command.words))
    read_writes = _PROGRAMS.get((words[0] or "").rpartition("/")[2]) if words else None
    named = list(command.redirects) + (read_writes(words[1:]) if read_writes else [])
    return _resolve_paths(command.cwd, named)


def list_patched_paths(command: ShellCommand, line: str) -> list[str]:
    """What `apply_patch` changes, which Codex also carries out in its shell tool; the patch stands in the line."""
    program = (command.words[0] or "").rpartition("/")[2] if command.words else ""
    if program not in _PATCHERS:
        return []
    return _resolve_paths(command.cwd, list_patched_files({"command": line}))


def list_paths_written_by_git(command: GitCommand) -> list[str]:
    """What `git rm` and `git mv` change in the working tree."""
    if command.subcommand not in ("rm", "mv"):
        return []
    options = parse_options(command.arguments)
    if options.has("--cached", "-n", "--dry-run"):
        return []
    return _resolve_paths(command.cwd, _known((*options.operands, *options.paths)))


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


def _known(words: Sequence[Word]) -> list[str]:
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
    options = parse_options(words, "-e -E -M -I")
    return _known(options.operands) if options.has("-i") else []


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


def _dd(words: Sequence[Word]) -> list[str]:
    return [word.removeprefix("of=") for word in words if word and word.startswith("of=")]


def _ruff(words: Sequence[Word]) -> list[str]:
    """`ruff format PATH` and `ruff check --fix PATH`."""
    options = parse_options(words, "--config --select --ignore --line-length --target-version")
    operands = _known(options.operands)
    is_fixing = options.has("--fix", "--fix-only") and operands[:1] == ["check"]
    is_formatting = operands[:1] == ["format"] and not options.has("--check", "--diff")
    return operands[1:] if is_fixing or is_formatting else []


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
    "black": _unless_checking("-l --line-length -t --target-version --config"),
    "clang-format": _operands("--style", ("-i",)),
    "cp": _copied_to,
    "dd": _dd,
    "eslint": _operands("-c --config --ext", ("--fix",)),
    "gofmt": _operands("-r", ("-w",)),
    "goimports": _operands("", ("-w",)),
    "install": _copied_to,
    "isort": _unless_checking("--profile -l --line-length"),
    "ln": _copied_to,
    "mv": _moved,
    "perl": _perl,
    "prettier": _operands("--config --parser", ("--write", "-w")),
    "rm": _operands(),
    "ruff": _ruff,
    "rustfmt": _unless_checking("--edition --config-path"),
    "sed": _sed,
    "shred": _operands("-n -s"),
    "tee": _operands(),
    "truncate": _operands("-s --size -r --reference"),
    "unlink": _operands(),
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
