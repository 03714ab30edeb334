"""Where a file stands in its repository, so that every agent means the same by the same path.

A path may come absolute or relative, through links, from another working tree of the repository, with a drive and
backslashes, or in another case; it leaves as `src/app.py`.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from commonplace.client import project

_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/])")
_EXTENDED = re.compile(r"^[\\/]{2}[?.][\\/](?:UNC(?=[\\/]))?", re.IGNORECASE)
_MOUNTED = re.compile(r"^(?:/mnt)?/([A-Za-z])(?=/)")
_OF_WSL = re.compile(r"^[\\/]{2}wsl(?:\.localhost|\$)[\\/][^\\/]+(?=[\\/])", re.IGNORECASE)


class Tree(NamedTuple):
    root: str
    """Of the working tree; outside of a repository, the folder itself."""
    main: str
    """The main working tree: what all the trees of one repository share. Nothing outside of a repository."""


def tree_of(cwd: str) -> Tree:
    if foreign(cwd):
        return Tree(cwd, "")
    folder = Path(cwd).expanduser().resolve()
    root = project.repository_of(folder)
    return Tree(str(root), _main(root)) if root else Tree(str(folder), "")


def place(file: str, cwd: str, tree: Tree) -> str | None:
    """The file's path from the root of its working tree; None for one that is outside of the repository."""
    whole = joined(_translated(file), cwd)
    if foreign(whole):
        return relative(whole, tree.root)
    asked = Path(whole)
    if asked.name in ("", ".."):
        return None
    # A link that leads out of the repository is still a file of it, which two agents may both write through.
    return _inside(asked.resolve(), tree) or _inside(asked.parent.resolve() / asked.name, tree)


def foreign(path: str) -> bool:
    """Whether the path is one of Windows while this is not."""
    return os.name != "nt" and (bool(_DRIVE.match(path)) or path.startswith("\\\\"))


def joined(file: str, cwd: str) -> str:
    if file.startswith(("/", "\\")) or _DRIVE.match(file):
        return file
    return f"{cwd}/{file}"


def relative(path: str, root: str) -> str | None:
    """By their texts alone. Windows ignores case and takes either slash; `..` that leaves the root leaves it."""
    windows = any(_DRIVE.match(text) or text.startswith("\\\\") for text in map(_plain, (path, root)))
    inner, outer = _segments(path, windows=windows), _segments(root, windows=windows)
    if windows:
        same = [name.casefold() for name in inner[: len(outer)]] == [name.casefold() for name in outer]
    else:
        same = inner[: len(outer)] == outer
    return "/".join(inner[len(outer) :]) if same and len(inner) > len(outer) else None


def _plain(path: str) -> str:
    """Without the prefix that lifts Windows' limit on length."""
    return _EXTENDED.sub(lambda found: "\\\\" if "unc" in found[0].lower() else "", path)


def _segments(path: str, *, windows: bool) -> list[str]:
    segments: list[str] = []
    for name in re.split(r"[\\/]" if windows else "/", _plain(path)):
        if name == "..":
            del segments[-1:]
        elif name not in ("", "."):
            segments.append(name)
    return segments


def _translated(file: str) -> str:
    """As this machine spells it: a drive under WSL is a mount, and the other way round."""
    if os.name == "nt":
        return _MOUNTED.sub(r"\1:", file)
    if found := _OF_WSL.match(file):
        return file[found.end() :].replace("\\", "/")
    mount = f"/mnt/{file[0].lower()}" if _DRIVE.match(file) else ""
    if mount and Path(mount).is_dir():
        return mount + file[2:].replace("\\", "/")
    return file if foreign(file) else file.replace("\\", "/")


def _main(root: Path) -> str:
    return str(project.main_worktree(root).resolve())


def _inside(path: Path, tree: Tree) -> str | None:
    if not tree.main:
        return relative(str(path), tree.root)
    for folder in path.parents:
        if (folder / ".git").exists() and _main(folder) == tree.main:
            inner = path.relative_to(folder)
            return "/".join(_as_stored(folder, inner.parts))
    return None


def _as_stored(root: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """In the case in which the folder lists them, where the file system does not tell cases apart."""
    if not (root / ".GIT").exists():
        return names
    spelled: list[str] = []
    for name in names:
        folder = root.joinpath(*spelled)
        listed = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - names are all that is asked
        alike = [one for one in listed if one.casefold() == name.casefold()]
        spelled.append(name if name in listed or not alike else alike[0])
    return tuple(spelled)
