"""COMMONPLACE_HOME/installed.json: what was written where, so that it can be taken away again."""

from pathlib import Path

import msgspec

from commonplace import errors
from commonplace.client import remote
from commonplace.client.install.files import write
from commonplace.client.install.wishes import Edit


class FileRecord(msgspec.Struct, omit_defaults=True):
    path: str
    edits: list[Edit] = []
    created: bool = False
    blank: str | None = None
    """What an existing file without any content said."""


class Scheduled(msgspec.Struct, omit_defaults=True):
    kind: str
    line: str = ""
    created: bool = False


class Installed(msgspec.Struct, omit_defaults=True):
    version: int = 1
    files: list[FileRecord] = []
    folders: list[str] = []
    """Those that were made for the files, the outermost first."""
    schedule: Scheduled | None = None

    def file(self, path: Path) -> FileRecord | None:
        return next((each for each in self.files if each.path == str(path)), None)

    def keep(self, record: FileRecord) -> None:
        """What is known of the file from now on; a record without edits is forgotten."""
        self.files = [each for each in self.files if each.path != record.path]
        self.files += [record] if record.edits else []

    def agents(self) -> set[str]:
        return {edit.agent for each in self.files for edit in each.edits if edit.agent}


def _path() -> Path:
    return remote.client_home() / "installed.json"


def load() -> Installed:
    try:
        return msgspec.json.decode(_path().read_bytes(), type=Installed)
    except FileNotFoundError:
        return Installed()
    except msgspec.DecodeError as fault:
        raise errors.Invalid(f"{_path()} can not be read ({fault}).", hint="Restore or remove it.") from None


def save(installed: Installed) -> None:
    if not installed.files and installed.schedule is None:
        _path().unlink(missing_ok=True)
        return
    shown = msgspec.json.format(msgspec.json.encode(installed), indent=1)
    _path().parent.mkdir(parents=True, exist_ok=True)
    write(_path(), shown + b"\n", private=True)
