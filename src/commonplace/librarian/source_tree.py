"""List the source files of a folder that git does not ignore."""

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from commonplace import errors
from commonplace.librarian import language

MAX_SOURCE_BYTES = 1_000_000
"""Larger files are usually generated."""

_SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "node_modules", "site-packages", "__pycache__", ".venv", ".tox"}
)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Modification time and size; differs when the file changed."""

    modified: int
    size: int


@dataclass(frozen=True, slots=True)
class _IgnoreRules:
    """The .gitignore files from the top down to a folder, each with the folder that it applies to."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def with_folder(self, folder: Path, prefix: str) -> "_IgnoreRules":
        try:
            lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return self
        return _IgnoreRules((*self.specs, (prefix, GitIgnoreSpec.from_lines(lines))))

    def ignores_path(self, path: str) -> bool:
        """Whether the path is ignored; the deepest .gitignore with a matching rule decides."""
        for folder, spec in reversed(self.specs):
            verdict = spec.check_file(path[len(folder) :]).include
            if verdict is not None:
                return verdict
        return False


@dataclass(frozen=True)
class SourceTree:
    """`folder` is scanned; file names are relative to `top`, its repository, and start with `prefix`."""

    folder: Path
    prefix: str = ""
    top: Path = field(init=False)

    def __post_init__(self) -> None:
        folder = self.folder.expanduser().resolve()
        if not folder.is_dir():
            raise errors.NotFound(
                f"Folder {self.folder} does not exist.", hint="Pass the path of an existing source folder."
            )
        object.__setattr__(self, "folder", folder)
        object.__setattr__(self, "top", _find_repository_root(folder))
        # The user asked for this folder, so scan it even if its repository ignores it.
        if self._load_ignore_rules().ignores_path(_relative_prefix(folder, self.top)):
            object.__setattr__(self, "top", folder)

    @property
    def scope(self) -> str:
        """The common prefix of all file names of this tree."""
        inside = self.folder.relative_to(self.top).as_posix()
        return self.prefix + ("" if inside == "." else f"{inside}/")

    def resolve_file(self, file: str) -> Path:
        return self.top / file.removeprefix(self.prefix)

    def list_files(self) -> dict[str, FileStamp]:
        """List the files in supported languages, with their stamps."""
        return dict(sorted(self._walk_folder(self.folder, self._load_ignore_rules())))

    def _load_ignore_rules(self) -> _IgnoreRules:
        ignored = _IgnoreRules()
        for parent in (self.top, *_list_folders_between(self.top, self.folder)):
            ignored = ignored.with_folder(parent, _relative_prefix(parent, self.top))
        return ignored

    def _walk_folder(self, folder: Path, ignored: _IgnoreRules) -> Iterator[tuple[str, FileStamp]]:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            name = f"{_relative_prefix(folder, self.top)}{entry.name}"
            if not _is_valid_name(entry.name) or entry.is_symlink():
                continue
            if entry.is_dir():
                if entry.name not in _SKIPPED_FOLDERS and not ignored.ignores_path(f"{name}/"):
                    inside = Path(entry.path)
                    yield from self._walk_folder(inside, ignored.with_folder(inside, f"{name}/"))
            elif language.language_of_file(name) and not ignored.ignores_path(name):
                yield from _stamp_entry(self.prefix + unicodedata.normalize("NFC", name), entry)


def _stamp_entry(name: str, entry: "os.DirEntry[str]") -> Iterator[tuple[str, FileStamp]]:
    try:
        stat = entry.stat()
    except OSError:
        return
    if stat.st_size <= MAX_SOURCE_BYTES:
        yield name, FileStamp(stat.st_mtime_ns, stat.st_size)


def _find_repository_root(folder: Path) -> Path:
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def _list_folders_between(top: Path, folder: Path) -> list[Path]:
    """List the folders below `top` down to and including `folder`."""
    inside = folder.relative_to(top).parts
    return [top.joinpath(*inside[: depth + 1]) for depth in range(len(inside))]


def _relative_prefix(folder: Path, top: Path) -> str:
    inside = folder.relative_to(top).as_posix()
    return "" if inside == "." else f"{inside}/"


def _is_valid_name(name: str) -> bool:
    """Whether the registry accepts the name: printable, and the same on all systems."""
    return name.isprintable() and not name.endswith((".", " ")) and "\\" not in name
