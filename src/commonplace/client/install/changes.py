"""Plans the changes to settings files, shows them as diffs, and applies them."""

import copy
import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace import errors
from commonplace.client.install import documents, files, install_record
from commonplace.client.install.install_record import FileRecord, InstallRecord
from commonplace.client.install.setting_edits import (
    AppendElement,
    AppliedEdit,
    EditPart,
    EnsureValue,
    PutValue,
    SettingEdit,
    WriteFile,
)
from commonplace.client.link import remote

_ACTS = {PutValue: "put", EnsureValue: "ensure", AppendElement: "append"}
_BEARER = re.compile(r"(Bearer )(?!\$|\{)[^\s\"']+")


@dataclass(frozen=True, slots=True)
class RequestedEdit:
    """An edit with the agent and part that it is for."""

    edit: SettingEdit
    agent: str = ""
    part: EditPart = "connection"


@dataclass(frozen=True, slots=True)
class FileChange:
    path: Path
    before: bytes | None
    after: bytes | None
    record: FileRecord

    def render_diff(self, secrets: Collection[str] = ()) -> str:
        """The change as a unified diff, with secrets masked."""
        sides = (self.before, self.after)
        before, after = (_masked_lines(content, secrets) for content in sides)
        old_path, new_path = ("/dev/null" if content is None else str(self.path) for content in sides)
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(before, after, old_path, new_path)
        )


def plan_additions(
    installed: InstallRecord, wanted: Sequence[RequestedEdit], parts: Collection[tuple[str, EditPart]] = ()
) -> list[FileChange]:
    """The file changes for these edits. Earlier edits for one of `parts` that are not requested any more are undone."""
    paths = dict.fromkeys(request.edit.path for request in wanted)
    paths |= dict.fromkeys(
        Path(record.path) for record in installed.files if _list_parts(record) & set(parts)
    )
    changes = [
        _plan_file(installed, path, [request for request in wanted if request.edit.path == path], parts)
        for path in paths
    ]
    return [change for change in changes if change.before != change.after]


def plan_removals(
    installed: InstallRecord, agents: Collection[str], hooks: Sequence[SettingEdit] = ()
) -> list[FileChange]:
    """The file changes that undo every edit for these agents; `hooks` are removed also where no record names them."""
    paths = [Path(record.path) for record in installed.files]
    paths += [hook.path for hook in hooks if isinstance(hook, AppendElement)]
    changes = [_plan_file_removal(installed, path, agents, hooks) for path in dict.fromkeys(paths)]
    return [change for change in changes if change is not None]


def _plan_file_removal(
    installed: InstallRecord, path: Path, agents: Collection[str], hooks: Sequence[SettingEdit]
) -> FileChange | None:
    raw, record = files.read(path), copy.deepcopy(installed.find_file(path)) or FileRecord(str(path))
    removed = [edit for edit in record.edits if edit.agent in agents]
    after, record = _remove_edits(path, raw, record, removed) if removed else (raw, record)
    after = _remove_strays(path, after, hooks)
    return FileChange(path, raw, after, record) if removed or after != raw else None


def _remove_strays(
    path: Path, raw: bytes | None, hooks: Sequence[SettingEdit], kept: Collection[str] = ()
) -> bytes | None:
    appended = [hook for hook in hooks if isinstance(hook, AppendElement) and hook.path == path]
    return documents.remove_stray_hooks(path, raw, appended, kept) if raw is not None and appended else raw


def apply_changes(
    changes: Sequence[FileChange], installed: InstallRecord, secrets: Collection[str] = ()
) -> Path | None:
    """Write the changes; return the folder with backups of the changed files, if there were any."""
    _record_before_writing(changes, installed)
    backups, kept = files.new_backup_folder(), None
    for change in changes:
        if files.read(change.path) != change.before:
            raise errors.Conflict(
                f"{change.path} was changed by another program meanwhile.", hint="Run the command again."
            )
        if change.before is not None and change.after not in {None, change.before}:
            files.back_up_file(change.path, change.before, backups)
            kept = backups
        _write_change(change, secrets)
    _forget_removed(changes, installed)
    return kept


def _plan_file(
    installed: InstallRecord,
    path: Path,
    wanted: Sequence[RequestedEdit],
    parts: Collection[tuple[str, EditPart]],
) -> FileChange:
    raw = files.read(path)
    record = copy.deepcopy(installed.find_file(path)) if raw is not None else None
    record = record or FileRecord(str(path), created=raw is None, blank=_blank_content(raw))
    kept = {_edit_key(edit) for edit in record.edits} - {_requested_key(request) for request in wanted}
    stale = [edit for edit in record.edits if _edit_key(edit) in kept and (edit.agent, edit.part) in parts]
    after, record = _remove_edits(path, raw, record, stale) if stale else (raw, record)
    hooks = [request.edit for request in wanted if request.part == "hooks"]
    after = _remove_strays(path, after, hooks, {at[-1] for at in map(_edit_keys, hooks) if at})
    for request in wanted:
        after = _apply_requested(path, after, request, record)
    return FileChange(path, raw, after, record)


def _apply_requested(path: Path, raw: bytes | None, wanted: RequestedEdit, record: FileRecord) -> bytes:
    earlier = next((edit for edit in record.edits if _edit_key(edit) == _requested_key(wanted)), None)
    after, edit = documents.apply_edit(path, raw, wanted.edit, earlier)
    if earlier is None and after == raw:
        return after
    edit.agent, edit.part = wanted.agent, wanted.part
    index = record.edits.index(earlier) if earlier is not None else len(record.edits)
    record.edits[index : index + 1] = [edit]
    return after


def _remove_edits(
    path: Path, raw: bytes | None, record: FileRecord, removed: Sequence[AppliedEdit]
) -> tuple[bytes | None, FileRecord]:
    """The file and its record without these edits."""
    after = None if raw is None else documents.undo_edits(path, raw, removed)
    record.edits = [edit for edit in record.edits if edit not in removed]
    if after is not None and not record.edits and documents.is_empty_document(path, after):
        if record.created:
            after = None
        elif record.blank is not None:
            after = record.blank.encode()
    return after, record


def _edit_key(edit: AppliedEdit) -> tuple[str, str, str, tuple[str, ...]]:
    return edit.agent, edit.part, edit.act, tuple(edit.at)


def _requested_key(wanted: RequestedEdit) -> tuple[str, str, str, tuple[str, ...]]:
    act = _ACTS.get(type(wanted.edit), "whole")
    return wanted.agent, wanted.part, act, _edit_keys(wanted.edit)


def _edit_keys(edit: SettingEdit) -> tuple[str, ...]:
    return () if isinstance(edit, WriteFile) else edit.at


def _list_parts(record: FileRecord) -> set[tuple[str, EditPart]]:
    return {(edit.agent, edit.part) for edit in record.edits}


def _blank_content(raw: bytes | None) -> str | None:
    return raw.decode() if raw is not None and not raw.removeprefix(b"\xef\xbb\xbf").strip() else None


def _record_before_writing(changes: Sequence[FileChange], installed: InstallRecord) -> None:
    """Save the record before anything is written, so that an interrupted run can be undone."""
    for change in changes:
        made = files.list_missing_folders(change.path) if change.after is not None else []
        installed.folders += [folder for folder in made if folder not in installed.folders]
        record = installed.find_file(change.path)
        if record is None or len(change.record.edits) >= len(record.edits):
            installed.replace_file_record(change.record)
    install_record.save_record(installed)


def _write_change(change: FileChange, secrets: Collection[str]) -> None:
    try:
        files.delete_leftovers(change.path)
        if change.after is None:
            change.path.unlink(missing_ok=True)
        elif change.after != change.before:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            is_ours = change.path.is_relative_to(remote.client_home())
            private = is_ours or any(secret and secret.encode() in change.after for secret in secrets)
            files.write(change.path, change.after, private=private)
            if change.after.startswith(b"#!"):
                change.path.chmod(0o755)
    except OSError as fault:
        raise errors.Unavailable(f"{change.path} cannot be written ({fault.strerror}).") from None


def _forget_removed(changes: Sequence[FileChange], installed: InstallRecord) -> None:
    """Remove undone edits from the record, and delete folders that we made and that are empty now."""
    for change in changes:
        installed.replace_file_record(change.record)
    install_record.save_record(installed)
    left = [folder for folder in reversed(installed.folders) if not files.remove_if_empty(Path(folder))]
    installed.folders = left[::-1]
    install_record.save_record(installed)


def _masked_lines(content: bytes | None, secrets: Collection[str]) -> list[str]:
    text = (content or b"").decode(errors="replace")
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return _BEARER.sub(r"\1***", text).splitlines(keepends=True)
