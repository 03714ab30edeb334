"""The source files of a folder that git would not ignore."""

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from commonplace import errors
from commonplace.librarian import language

LARGEST = 1_000_000
"""Bytes; what is larger was made by a program."""

_NEVER = frozenset({".git", ".hg", ".svn", "node_modules", "site-packages", "__pycache__", ".venv", ".tox"})


@dataclass(frozen=True, slots=True)
class Stamp:
    """Changes whenever the file does."""

    modified: int
    size: int


@dataclass(frozen=True, slots=True)
class _Ignored:
    """The .gitignore files from the top down to a folder, each with the folder that it speaks about."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def extended(self, folder: Path, named: str) -> "_Ignored":
        try:
            lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return self
        return _Ignored((*self.specs, (named, GitIgnoreSpec.from_lines(lines))))

    def covers(self, path: str) -> bool:
        """The deepest file that says anything about the path decides."""
        for folder, spec in reversed(self.specs):
            verdict = spec.check_file(path[len(folder) :]).include
            if verdict is not None:
                return verdict
        return False


@dataclass(frozen=True)
class SourceTree:
    """`folder` is scanned; files are named from `top`, the repository that it lies in, behind `prefix`."""

    folder: Path
    prefix: str = ""
    top: Path = field(init=False)

    def __post_init__(self) -> None:
        folder = self.folder.expanduser().resolve()
        if not folder.is_dir():
            raise errors.NotFound(
                f"There is no folder {self.folder}.", hint="Name the folder of the sources."
            )
        object.__setattr__(self, "folder", folder)
        object.__setattr__(self, "top", _repository(folder))
        # A folder that its repository ignores was asked for all the same: it stands for itself.
        if self._above().covers(_named(folder, self.top)):
            object.__setattr__(self, "top", folder)

    @property
    def scope(self) -> str:
        """What every name of this tree begins with."""
        inside = self.folder.relative_to(self.top).as_posix()
        return self.prefix + ("" if inside == "." else f"{inside}/")

    def path(self, file: str) -> Path:
        return self.top / file.removeprefix(self.prefix)

    def files(self) -> dict[str, Stamp]:
        """Every file in a language that is known, by its name."""
        return dict(sorted(self._walk(self.folder, self._above())))

    def _above(self) -> _Ignored:
        ignored = _Ignored()
        for parent in (self.top, *_between(self.top, self.folder)):
            ignored = ignored.extended(parent, _named(parent, self.top))
        return ignored

    def _walk(self, folder: Path, ignored: _Ignored) -> Iterator[tuple[str, Stamp]]:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            name = f"{_named(folder, self.top)}{entry.name}"
            if not _nameable(entry.name) or entry.is_symlink():
                continue
            if entry.is_dir():
                if entry.name not in _NEVER and not ignored.covers(f"{name}/"):
                    inside = Path(entry.path)
                    yield from self._walk(inside, ignored.extended(inside, f"{name}/"))
            elif language.of_file(name) and not ignored.covers(name):
                yield from _stamped(self.prefix + unicodedata.normalize("NFC", name), entry)


def _stamped(name: str, entry: "os.DirEntry[str]") -> Iterator[tuple[str, Stamp]]:
    try:
        stat = entry.stat()
    except OSError:
        return
    if stat.st_size <= LARGEST:
        yield name, Stamp(stat.st_mtime_ns, stat.st_size)


def _repository(folder: Path) -> Path:
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def _between(top: Path, folder: Path) -> list[Path]:
    """The folders below `top` down to and with `folder`."""
    inside = folder.relative_to(top).parts
    return [top.joinpath(*inside[: depth + 1]) for depth in range(len(inside))]


def _named(folder: Path, top: Path) -> str:
    inside = folder.relative_to(top).as_posix()
    return "" if inside == "." else f"{inside}/"


def _nameable(name: str) -> bool:
    """The registry refuses names that cannot be read or that other systems spell differently."""
    return name.isprintable() and not name.endswith((".", " ")) and "\\" not in name
