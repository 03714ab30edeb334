"""The record of what was written where (COMMONPLACE_HOME/installed.json), so that it can be undone."""

from pathlib import Path

import msgspec

from commonplace import errors
from commonplace.client.install.files import write
from commonplace.client.install.setting_edits import AppliedEdit
from commonplace.client.link import remote


class FileRecord(msgspec.Struct, omit_defaults=True):
    path: str
    edits: list[AppliedEdit] = []
    created: bool = False
    blank: str | None = None
    """The content of an existing file that was blank."""


class ScheduleRecord(msgspec.Struct, omit_defaults=True):
    kind: str
    line: str = ""
    created: bool = False


class InstallRecord(msgspec.Struct, omit_defaults=True):
    version: int = 1
    files: list[FileRecord] = []
    folders: list[str] = []
    """Folders that were made for the files, outermost first."""
    schedule: ScheduleRecord | None = None

    def find_file(self, path: Path) -> FileRecord | None:
        return next((record for record in self.files if record.path == str(path)), None)

    def replace_file_record(self, record: FileRecord) -> None:
        """Replace the record of a file; one without edits is dropped."""
        self.files = [existing for existing in self.files if existing.path != record.path]
        self.files += [record] if record.edits else []

    def list_agents(self) -> set[str]:
        return {edit.agent for record in self.files for edit in record.edits if edit.agent}


def _record_path() -> Path:
    return remote.client_home() / "installed.json"


def load_record() -> InstallRecord:
    try:
        return msgspec.json.decode(_record_path().read_bytes(), type=InstallRecord)
    except FileNotFoundError:
        return InstallRecord()
    except msgspec.DecodeError as fault:
        raise errors.Invalid(
            f"{_record_path()} cannot be read ({fault}).", hint="Restore or delete it."
        ) from None


def save_record(installed: InstallRecord) -> None:
    if not installed.files and installed.schedule is None:
        _record_path().unlink(missing_ok=True)
        return
    encoded = msgspec.json.format(msgspec.json.encode(installed), indent=1)
    _record_path().parent.mkdir(parents=True, exist_ok=True)
    write(_record_path(), encoded + b"\n", private=True)
