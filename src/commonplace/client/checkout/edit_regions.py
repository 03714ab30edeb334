"""The regions that an edit, or what is staged, changes in each file, as the server takes them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from commonplace import window
from commonplace.client import project
from commonplace.client.checkout import changed_lines, edit_texts
from commonplace.client.checkout.git_program import GitFailed, run_git
from commonplace.client.checkout.working_tree import join_path, repository_path
from commonplace.client.companion import fault_log
from commonplace.client.companion.hook_run import HookRun
from commonplace.file_region import (
    BASE_CHARACTERS,
    MAX_BASES,
    FileRegion,
    LineSpan,
    tag_working_tree,
)

_MAX_FILE_BYTES = 2_000_000
_MAX_FILES = 20


class EditedFile:
    """A file before and after a change, and the versions in whose lines the change is known."""

    def __init__(self, path: str, folder: str, base: str, before: str, after: str, base_text: str) -> None:
        self.path, self._folder = path, folder
        self._before, self._after = before, after
        self._tree = tag_tree_of(folder)
        self._spans: dict[str, tuple[LineSpan, ...]] = {}
        self._symbols = self._add_base(base, base_text)

    @property
    def is_located(self) -> bool:
        return bool(self._spans)

    @property
    def lock_path(self) -> str:
        return self.path + FileRegion(self._spans, self._symbols, self._tree).text

    def translate_to(self, bases: Iterable[str]) -> bool:
        """Learn the lines of the change in other versions too; whether one was new and is in this repository."""
        is_new = False
        for base in bases:
            if base in self._spans or len(self._spans) >= MAX_BASES:
                continue
            try:
                version = read_version(self._folder, base)
                if version is not None:
                    self._add_base(base, version[1])
            except (GitFailed, ValueError) as error:
                fault_log.log_fault(f"translation of {self.path} to {base}", error)
            is_new |= base in self._spans
        return is_new

    def _add_base(self, base: str, text: str) -> tuple[str, ...]:
        """The symbols that contain the lines in this version."""
        spans = changed_lines.find_changed_spans(text, self._before, self._after)
        if not spans:
            return ()
        self._spans[base] = spans
        from commonplace.client.checkout import symbol_names  # loads the parser

        return symbol_names.name_spans(self.path, text, spans)


def locate_edit(hook_run: HookRun, files: Sequence[str]) -> dict[str, EditedFile]:
    """Those files of an editing tool whose changed lines are known, by their paths in the repository."""
    arguments = hook_run.event.arguments
    if not arguments or not hook_run.tree.main or not are_regions_on(hook_run):
        return {}
    located: dict[str, EditedFile] = {}
    for file in hook_run.event.files[:_MAX_FILES]:
        path = repository_path(file, hook_run.event.cwd, hook_run.tree)
        if path is None or path not in files:
            continue
        try:
            edited = _locate_file(arguments, file, path, Path(join_path(file, hook_run.event.cwd)).resolve())
        except (GitFailed, OSError, ValueError) as error:
            fault_log.log_fault(f"lines of {path}", error)
            continue
        if edited and edited.is_located and path not in located:
            located[path] = edited
        elif path in located:  # named twice: what both do is not known
            del located[path]
    return located


def are_regions_on(hook_run: HookRun) -> bool:
    """The setting of the repository, else the user's."""
    named = project.find_project_setting(Path(hook_run.tree.root), "regions")
    return (named.value if named and named.value in ("on", "off") else hook_run.settings.regions) == "on"


def tag_tree_of(folder: str) -> str:
    root = project.find_repository(Path(folder).resolve()) or folder
    return tag_working_tree(window.machine_name(), str(root))


def decode_text(content: bytes) -> str:
    """The text with plain line ends; ValueError if it is not text."""
    if len(content) > _MAX_FILE_BYTES or b"\0" in content:
        raise ValueError("too large, or not text")
    return content.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def read_version(folder: str, name: str) -> tuple[str, str] | None:
    """The id and the text of a version that git has: `HEAD:./cart.py`, or the id of an object."""
    if "\n" in name:
        return None
    given = f"{name}\n".encode("utf-8", "surrogateescape")
    head, _, content = run_git("cat-file", "--batch", folder=folder, given=given).partition("\n")
    words = head.split(" ")
    if len(words) != 3 or words[1] != "blob":  # noqa: PLR2004 - id, type and size
        return None
    return words[0][:BASE_CHARACTERS], decode_text(content.encode("utf-8", "surrogateescape"))


def _locate_file(arguments: dict[str, Any], file: str, path: str, place: Path) -> EditedFile | None:
    if not place.is_file():
        return None
    before = decode_text(place.read_bytes())
    after = edit_texts.apply_edit(arguments, file, before)
    if after is None or after == before:
        return None
    folder = str(place.parent)
    version = read_version(folder, f"HEAD:./{place.name}")
    return EditedFile(path, folder, version[0], before, after, version[1]) if version else None
