"""The files of a vault, and which documents had a file at the end of the last run.

The second is needed to tell a document that is new from one whose file was deleted. Hidden folders and links are left
alone: a link may lead out of the folder.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace import errors
from commonplace.client.vault.vault_file import UnfitFile, VaultFile, read_vault_file

_STATE_NAME = ".commonplace-vault.json"
_MAX_FILES = 10_000
_MAX_STATE_BYTES = 5_000_000
_MAX_NAME_BYTES = 120
_NOT_IN_NAME = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*#^\[\]]+')
_RESERVED_NAME = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")
SkipFile = Callable[[str, str], None]


class VaultFolder:
    def __init__(self, path: Path, project: str) -> None:
        """`path` is a folder, or one Markdown file: then no other is looked at."""
        self.only = path.resolve() if path.is_file() else None
        self.top = (self.only.parent if self.only else path).resolve()
        self._project = project
        if not self.top.is_dir():
            raise errors.NotFound(f"There is no folder {path}.", hint="Create it, or check the path.")

    def read_files(self, skip: SkipFile) -> list[VaultFile]:
        files: list[VaultFile] = []
        for path in self._list_paths(skip):
            try:
                files.append(read_vault_file(path))
            except UnfitFile as reason:
                skip(self.name_of(path), str(reason))
        return files

    def name_of(self, path: Path) -> str:
        return path.relative_to(self.top).as_posix()

    def choose_path(self, title: str, taken: set[str]) -> Path:
        """A free path for a document, directly in the folder, whatever its title is."""
        words = " ".join(_NOT_IN_NAME.sub(" ", title).split())
        # In bytes, because file systems count those; the rest is for the number and the ending.
        plain = (
            words.strip(". ")
            .encode("utf-8", "replace")[:_MAX_NAME_BYTES]
            .decode("utf-8", "ignore")
            .strip(". ")
        )
        if not plain or _RESERVED_NAME.fullmatch(plain):
            plain = f"document {plain}".strip()
        number = 1
        while True:
            name = f"{plain}.md" if number == 1 else f"{plain} {number}.md"
            if name.lower() not in taken and not os.path.lexists(self.top / name):
                taken.add(name.lower())
                return self.top / name
            number += 1

    def load_known(self) -> dict[str, str]:
        """The file of each document at the end of the last run."""
        state = self.top / _STATE_NAME
        if state.is_symlink() or not state.is_file() or state.stat().st_size > _MAX_STATE_BYTES:
            return {}
        try:
            kept = json.loads(state.read_bytes())
        except ValueError:
            return {}
        files = kept.get(self._project) if isinstance(kept, dict) else None
        pairs = files.items() if isinstance(files, dict) else ()
        return {identity: name for identity, name in pairs if isinstance(name, str)}

    def save_known(self, known: dict[str, str]) -> None:
        if known == self.load_known():
            return
        state = self.top / _STATE_NAME
        others: dict[str, object] = {}
        if state.is_file() and not state.is_symlink():
            try:
                kept = json.loads(state.read_bytes())
                others = kept if isinstance(kept, dict) else {}
            except ValueError:
                others = {}
        temporary = self.top / f"{_STATE_NAME}.new"
        try:
            temporary.unlink(missing_ok=True)
            with temporary.open("x", encoding="utf-8") as file:
                json.dump(others | {self._project: known}, file, indent=1, sort_keys=True)
            temporary.replace(state)
        except OSError as fault:
            raise errors.Invalid(
                f"{state} cannot be written ({fault.strerror}).", hint="Make the folder writable."
            ) from None

    def _list_paths(self, skip: SkipFile) -> Iterator[Path]:
        if self.only:
            yield self.only
            return
        count = 0
        for place, folders, names in os.walk(self.top, followlinks=False):
            here = Path(place)
            folders[:] = sorted(folder for folder in folders if self._is_wanted_folder(here / folder, skip))
            for name in sorted(names):
                path = here / name
                if name.startswith(".") or path.suffix.lower() != ".md":
                    continue
                if path.is_symlink():
                    skip(self.name_of(path), "it is a link")
                    continue
                count += 1
                if count > _MAX_FILES:
                    raise errors.Invalid(
                        f"{self.top} has more than {_MAX_FILES} Markdown files.", hint="Name a folder in it."
                    )
                yield path

    def _is_wanted_folder(self, folder: Path, skip: SkipFile) -> bool:
        if folder.name.startswith("."):
            return False
        if folder.is_symlink():
            skip(self.name_of(folder), "it is a link")
            return False
        return True
