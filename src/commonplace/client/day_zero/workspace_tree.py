"""The folder tree of an earlier workspace server: `workspaces.json` and a folder for each workspace.

No such format is published, so the reader accepts the usual spellings and reports everything that it does not read.
It opens no file but `workspaces.json`; `commands/import_workspaces.py` stores what is listed here.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

OnSkip = Callable[[str, str], None]

INDEX_NAME = "workspaces.json"
_MAX_INDEX_BYTES = 16_000_000
# Spellings of the fields of an entry, the first one that has a text counts.
_ID_FIELDS = ("workspace_id", "workspaceId", "id", "slug", "name")
_FOLDER_FIELDS = ("folder", "path", "dir", "directory")
_TRIPLE_FIELDS = (
    ("machine", "machine_id", "machineId", "machine_name", "host", "hostname", "device"),
    ("tool", "tool_name", "toolName", "agent", "client"),
    ("project", "project_name", "projectName", "project_id", "projectId", "repository", "repo"),
)
_LIST_FIELDS = ("workspaces", "items")
_WORKSPACES_FOLDER = "workspaces"
_OVERVIEW_NAMES = ("overview.md", "readme.md")
_KNOWLEDGE_FOLDERS = frozenset({"knowledge"})
_SESSION_FOLDERS = frozenset({"sessions", "archives", "archive", "transcripts"})
_TRANSCRIPT_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")


class FoundTranscript(NamedTuple):
    session_id: str
    file: Path


@dataclass
class FoundWorkspace:
    machine: str
    tool: str
    project: str
    folder: Path
    overview: Path | None = None
    knowledge: dict[str, Path] = field(default_factory=dict)
    """Files by their path in the workspace."""
    transcripts: list[FoundTranscript] = field(default_factory=list)


def is_workspace_tree(path: Path) -> bool:
    return (path / INDEX_NAME).is_file()


def list_workspaces(root: Path, on_skip: OnSkip) -> list[FoundWorkspace]:
    """The workspaces of the tree with their files; what is in no workspace is reported."""
    root = root.resolve()
    workspaces = [
        workspace
        for label, entry in _list_entries(root / INDEX_NAME, on_skip)
        if (workspace := _find_workspace(root, label, entry, on_skip))
    ]
    folders = {workspace.folder for workspace in workspaces}
    for workspace in workspaces:
        _list_files(workspace, folders - {workspace.folder}, on_skip)
    _report_others(root, folders, on_skip)
    return workspaces


def _list_entries(index: Path, on_skip: OnSkip) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A label and the fields of each entry of a list, or of a mapping whose keys are the ids."""
    try:
        if index.stat().st_size > _MAX_INDEX_BYTES:
            on_skip(str(index), f"larger than {_MAX_INDEX_BYTES // 1_000_000} MB")
            return
        listed = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as broken:
        on_skip(str(index), f"cannot be read ({broken})")
        return
    listed = next((listed[name] for name in _LIST_FIELDS if _has_list(listed, name)), listed)
    pairs = (
        listed.items() if isinstance(listed, dict) else ((f"entry {n}", each) for n, each in _number(listed))
    )
    for key, entry in pairs:
        label = f"{index}: {key}"
        if not isinstance(entry, dict):
            on_skip(label, "not an object with machine, tool and project")
        elif isinstance(listed, dict):
            yield label, {"id": key} | entry
        else:
            yield label, entry


def _has_list(listed: Any, name: str) -> bool:
    return isinstance(listed, dict) and isinstance(listed.get(name), list | dict)


def _number(listed: Any) -> Iterator[tuple[int, Any]]:
    return enumerate(listed if isinstance(listed, list) else [listed], 1)


def _find_workspace(
    root: Path, label: str, entry: Mapping[str, Any], on_skip: OnSkip
) -> FoundWorkspace | None:
    triple = [_read_field(entry, names) for names in _TRIPLE_FIELDS]
    missing = [names[0] for names, value in zip(_TRIPLE_FIELDS, triple, strict=True) if not value]
    if missing:
        on_skip(label, f"it has no {', no '.join(missing)}")
        return None
    machine, tool, project = triple
    places = _list_places(entry, machine, tool, project)
    folder = next((folder for place in places if (folder := _find_folder(root, place))), None)
    if folder is None:
        on_skip(label, f"no folder {' or '.join(places)}")
        return None
    return FoundWorkspace(machine, tool, project, folder)


def _read_field(entry: Mapping[str, Any], names: tuple[str, ...]) -> str:
    texts = (entry.get(name) for name in names)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


def _list_places(entry: Mapping[str, Any], machine: str, tool: str, project: str) -> list[str]:
    """Where the folder of a workspace may be: where its entry says, by its id, or by its three names."""
    label = "-".join(_NOT_IN_SLUG.sub("-", name.lower()).strip("-") for name in (machine, tool, project))
    named = (_read_field(entry, _FOLDER_FIELDS), _read_field(entry, _ID_FIELDS))
    places = [place for place in (*named, f"{machine}/{tool}/{project}", label) if place]
    return list(dict.fromkeys([*places, *(f"{_WORKSPACES_FOLDER}/{place}" for place in places)]))


def _find_folder(root: Path, place: str) -> Path | None:
    """A folder below the root; a link or `..` may lead out of it."""
    try:
        folder = (root / place).resolve()
        return folder if folder != root and folder.is_relative_to(root) and folder.is_dir() else None
    except (OSError, ValueError):
        return None


def _list_files(workspace: FoundWorkspace, others: set[Path], on_skip: OnSkip) -> None:
    workspace.overview = _find_overview(workspace.folder)
    for file in _walk_files(workspace.folder, others, on_skip):
        place = PurePosixPath(file.relative_to(workspace.folder).as_posix())
        suffix = next((end for end in _TRANSCRIPT_SUFFIXES if file.name.endswith(end)), "")
        if file == workspace.overview:
            continue
        if any(part.startswith(".") for part in place.parts):
            on_skip(str(file), "hidden")
        elif suffix:
            session = _drop_first(place, _SESSION_FOLDERS).as_posix().removesuffix(suffix)
            workspace.transcripts.append(FoundTranscript(session, file))
        elif place.suffix != ".md":
            on_skip(str(file), "neither Markdown nor a transcript")
        else:
            path = _drop_first(place, _KNOWLEDGE_FOLDERS).as_posix()
            if (other := workspace.knowledge.setdefault(path, file)) != file:
                on_skip(str(file), f"it has the path of {other}")


def _find_overview(folder: Path) -> Path | None:
    files = {file.name.lower(): file for file in sorted(folder.iterdir()) if _is_plain_file(file)}
    return next((files[name] for name in _OVERVIEW_NAMES if name in files), None)


def _walk_files(folder: Path, others: set[Path], on_skip: OnSkip) -> Iterator[Path]:
    """Every file in the folder, but for those of workspaces inside it. Links are not followed."""
    waiting = [folder]
    while waiting:
        for child in sorted(waiting.pop().iterdir()):
            if child.is_symlink():
                on_skip(str(child), "a link")
            elif child.is_dir() and child not in others:
                waiting.append(child)
            elif child.is_file():
                yield child


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _drop_first(place: PurePosixPath, folders: frozenset[str]) -> PurePosixPath:
    """The path without the folder that only says what kind of file is in it."""
    return PurePosixPath(*place.parts[1:]) if place.parts[0] in folders and len(place.parts) > 1 else place


def _report_others(root: Path, folders: set[Path], on_skip: OnSkip) -> None:
    """What is beside the workspaces, each folder once."""
    waiting = [root]
    while waiting:
        for child in sorted(waiting.pop().iterdir()):
            if child in folders or child == root / INDEX_NAME:
                continue
            if any(folder.is_relative_to(child) for folder in folders):
                waiting.append(child)
            else:
                on_skip(str(child), f"no workspace of {INDEX_NAME}")
