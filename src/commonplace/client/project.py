"""Which project a folder belongs to. Hooks need it before every edit, so this reads files and never runs git."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

PROJECT_FILE = ".commonplace.toml"
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_PLAIN_SEPARATORS = re.compile(r"[\s._-]+")
_MAX_NAME_CHARACTERS = 64
_DIGEST_CHARACTERS = 8


class ProjectSetting(NamedTuple):
    value: str
    path: Path


def project_of_folder(cwd: str | Path) -> str:
    """COMMONPLACE_PROJECT, else the folder's own project."""
    return os.environ.get("COMMONPLACE_PROJECT") or project_from_files(cwd)


def project_from_files(cwd: str | Path) -> str:
    """`project` of .commonplace.toml at the repository's root if it is trusted, else the repository's name.

    A linked worktree has the name of the main one, so that all share one memory. A folder outside of a repository is
    a project by its own name.
    """
    folder = Path(cwd).expanduser()
    named = find_project_setting(folder, "project")
    return named.value if named and _is_trusted(named, folder) else _own_name(folder)


def find_untrusted_project(cwd: str | Path) -> ProjectSetting | None:
    """The project that the folder's repository names and that nobody has confirmed (`project_trust.py`)."""
    folder = Path(cwd).expanduser()
    named = find_project_setting(folder, "project")
    return named if named and not _is_trusted(named, folder) else None


def trust_root(folder: Path) -> Path:
    """The folder that a confirmation is stored for: the main worktree, so that one counts for all of them."""
    root = find_repository(folder)
    return (find_main_worktree(root) if root else folder).resolve()


def _is_trusted(named: ProjectSetting, folder: Path) -> bool:
    if _fold_name(named.value) == _fold_name(_own_name(folder)):
        return True
    # Imported late: remote.py imports this module, and few repositories name a project.
    from commonplace.client import project_trust
    from commonplace.client.link import remote

    return project_trust.is_project_trusted(named.value, trust_root(folder), remote.read_configuration())


def _own_name(folder: Path) -> str:
    root = find_repository(folder)
    return _name_from_folder(find_main_worktree(root).name.removesuffix(".git") if root else folder.name)


def _fold_name(name: str) -> str:
    """Spellings that are one project on the server; C++ and C# are none of C."""
    return _PLAIN_SEPARATORS.sub("_", name.lower()).strip("_")


def find_project_setting(folder: Path, name: str) -> ProjectSetting | None:
    """A value in .commonplace.toml of the folder's repository, else of the repository's main worktree."""
    root = find_repository(folder)
    for candidate in (root, find_main_worktree(root)) if root else (folder,):
        path = candidate / PROJECT_FILE
        if value := _read_project_file(path).get(name):
            return ProjectSetting(str(value), path)
    return None


def _name_from_folder(folder: str) -> str:
    """The folder's name if the server accepts it as a project; else a shortened one that ends in a digest."""
    words = _BETWEEN_WORDS.sub("_", folder.lower()).strip("_")
    if words and len(words) <= _MAX_NAME_CHARACTERS:
        return folder
    if not folder:
        return "root"
    import hashlib  # few folders have such names

    digest = hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{words[: _MAX_NAME_CHARACTERS - _DIGEST_CHARACTERS - 1].rstrip('_') or 'folder'}_{digest}"


def find_repository(folder: Path) -> Path | None:
    """The root of the working tree that contains the folder."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return None


def find_main_worktree(root: Path) -> Path:
    """The main working tree of a linked one; for any other, itself."""
    try:
        pointer = (root / ".git").read_text(encoding="utf-8")
        inside = root / pointer.removeprefix("gitdir:").strip()
        shared = (inside / (inside / "commondir").read_text(encoding="utf-8").strip()).resolve()
    except OSError:
        return root
    return shared.parent if shared.name == ".git" else shared


def find_branch(root: str | Path) -> str:
    """The branch that is checked out at the root of a working tree; empty if none is."""
    folder = Path(root) / ".git"
    try:
        if folder.is_file():
            folder = folder.parent / folder.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    prefix = "ref: refs/heads/"
    return head.removeprefix(prefix) if head.startswith(prefix) else ""


def _read_project_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    import tomllib  # few repositories have the file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
