"""A file's path in its repository, so that the same path means the same file to every agent.

A path may be absolute or relative, go through links, name another working tree of the repository, or be written with a
drive and backslashes or in another case. The result looks like `src/app.py`.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from commonplace.client import project

_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/])")
_EXTENDED_PREFIX = re.compile(r"^[\\/]{2}[?.][\\/](?:UNC(?=[\\/]))?", re.IGNORECASE)
_MOUNTED_DRIVE = re.compile(r"^(?:/mnt)?/([A-Za-z])(?=/)")
_WSL_PREFIX = re.compile(r"^[\\/]{2}wsl(?:\.localhost|\$)[\\/][^\\/]+(?=[\\/])", re.IGNORECASE)


class WorkingTree(NamedTuple):
    root: str
    """The root of the working tree; outside of a repository, the folder itself."""
    main: str
    """The main working tree, the same for all working trees of a repository; empty outside of one."""


def find_working_tree(cwd: str) -> WorkingTree:
    if is_foreign_path(cwd):
        return WorkingTree(cwd, "")
    folder = Path(cwd).expanduser().resolve()
    root = project.find_repository(folder)
    return WorkingTree(str(root), _main_tree(root)) if root else WorkingTree(str(folder), "")


def repository_path(file: str, cwd: str, tree: WorkingTree) -> str | None:
    """The file's path from the root of its working tree; None if it is outside of the repository."""
    joined = join_path(_translate_mount(file), cwd)
    if is_foreign_path(joined):
        return relative_by_text(joined, tree.root)
    path = Path(joined)
    if path.name in ("", ".."):
        return None
    # A link that leads out of the repository is still a file in it, and two agents may write through it.
    return _path_in_tree(path.resolve(), tree) or _path_in_tree(path.parent.resolve() / path.name, tree)


def is_foreign_path(path: str) -> bool:
    """Whether this is a Windows path on another system."""
    return os.name != "nt" and (bool(_DRIVE.match(path)) or path.startswith("\\\\"))


def join_path(file: str, cwd: str) -> str:
    if file.startswith(("/", "\\")) or _DRIVE.match(file):
        return file
    return f"{cwd}/{file}"


def relative_by_text(path: str, root: str) -> str | None:
    """The path below `root`, compared as text; Windows paths ignore case and accept both slashes."""
    windows = any(
        _DRIVE.match(text) or text.startswith("\\\\") for text in map(_strip_extended_prefix, (path, root))
    )
    inner, outer = _split_path(path, windows=windows), _split_path(root, windows=windows)
    if windows:
        same = [name.casefold() for name in inner[: len(outer)]] == [name.casefold() for name in outer]
    else:
        same = inner[: len(outer)] == outer
    return "/".join(inner[len(outer) :]) if same and len(inner) > len(outer) else None


def _strip_extended_prefix(path: str) -> str:
    """The path without the prefix for long Windows paths."""
    return _EXTENDED_PREFIX.sub(lambda match: "\\\\" if "unc" in match[0].lower() else "", path)


def _split_path(path: str, *, windows: bool) -> list[str]:
    segments: list[str] = []
    for name in re.split(r"[\\/]" if windows else "/", _strip_extended_prefix(path)):
        if name == "..":
            del segments[-1:]
        elif name not in ("", "."):
            segments.append(name)
    return segments


def _translate_mount(file: str) -> str:
    """The path as this machine spells it: under WSL a drive is a mount, and vice versa."""
    if os.name == "nt":
        return _MOUNTED_DRIVE.sub(r"\1:", file)
    if match := _WSL_PREFIX.match(file):
        return file[match.end() :].replace("\\", "/")
    mount = f"/mnt/{file[0].lower()}" if _DRIVE.match(file) else ""
    if mount and Path(mount).is_dir():
        return mount + file[2:].replace("\\", "/")
    return file if is_foreign_path(file) else file.replace("\\", "/")


def _main_tree(root: Path) -> str:
    return str(project.find_main_worktree(root).resolve())


def _path_in_tree(path: Path, tree: WorkingTree) -> str | None:
    if not tree.main:
        return relative_by_text(str(path), tree.root)
    for folder in path.parents:
        if (folder / ".git").exists() and _main_tree(folder) == tree.main:
            inner = path.relative_to(folder)
            return "/".join(_restore_case(folder, inner.parts))
    return None


def _restore_case(root: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names in their stored case, on file systems that ignore case."""
    if not (root / ".GIT").exists():
        return names
    spelled: list[str] = []
    for name in names:
        folder = root.joinpath(*spelled)
        listed = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - only names are needed
        alike = [one for one in listed if one.casefold() == name.casefold()]
        spelled.append(name if name in listed or not alike else alike[0])
    return tuple(spelled)
