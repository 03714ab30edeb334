"""Edits settings files in JSON and TOML, keeping their encoding, line ends and byte order mark."""

import tomllib
from collections.abc import Callable, Container, Sequence
from functools import partial
from pathlib import Path

import msgspec

from commonplace import errors
from commonplace.client.install import json_edits, toml_edits
from commonplace.client.install.hook_commands import runs_our_hook
from commonplace.client.install.jsonc import NotJson
from commonplace.client.install.setting_edits import (
    AppendElement,
    AppliedEdit,
    EnsureValue,
    PutValue,
    SettingEdit,
    WriteFile,
)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
_HINT = "Fix the file, or add the entry that this prints: commonplace connect AGENT --print"


def apply_edit(
    path: Path, raw: bytes | None, requested: SettingEdit, earlier: AppliedEdit | None
) -> tuple[bytes, AppliedEdit]:
    """The file with the edit applied, and what undoes it; `earlier` is the same edit of an earlier run."""
    if isinstance(requested, WriteFile):
        return _replace_file(raw, requested, earlier)
    changed, edit = _edit_text(path, raw or b"", lambda text: _apply_to_text(path, text, requested, earlier))
    afresh = changed != raw and (_is_toml(path) or edit.made < len(edit.at))
    return changed, edit if afresh else _merge_edits(earlier, edit)


def undo_edits(path: Path, raw: bytes, edits: Sequence[AppliedEdit]) -> bytes | None:
    """The file with the edits undone, last one first; None if the whole file was ours."""
    for edit in reversed(edits):
        if edit.act == "whole":
            return edit.before.encode() if edit.before is not None else None
        raw, _ = _edit_text(path, raw, partial(_undo_in_text, path, edit))
    return raw


def remove_stray_hooks(path: Path, raw: bytes, hooks: Sequence[AppendElement], kept: Container[str]) -> bytes:
    """The file without our hooks at events other than `kept`; those were written by another version."""
    for hook in {hook.at[:-1]: hook for hook in hooks}.values():
        raw, _ = _edit_text(path, raw, partial(_remove_strays_in_text, path, hook, kept))
    return raw


def _remove_strays_in_text(
    path: Path, hook: AppendElement, kept: Container[str], text: bytes
) -> tuple[bytes, AppliedEdit]:
    nothing = AppliedEdit("append", list(hook.at))
    if _is_toml(path) or not text.strip(_BLANKS):
        return text, nothing
    return json_edits.remove_strays(text, hook.at[:-1], hook.value, kept), nothing


def is_empty_document(path: Path, raw: bytes) -> bool:
    """Whether the document has no content."""
    text = raw.removeprefix(_BYTE_ORDER_MARK)
    return not text.strip(_BLANKS) or (not _is_toml(path) and json_edits.is_empty_json(text))


def _replace_file(
    raw: bytes | None, requested: WriteFile, earlier: AppliedEdit | None
) -> tuple[bytes, AppliedEdit]:
    edit = AppliedEdit("whole", [], made=1)
    before = _decode_text(requested.path, raw) if raw is not None else requested.text
    if before != requested.text and not (runs_our_hook(before) and runs_our_hook(requested.text)):
        edit.before = before
    return requested.text.encode(), _merge_edits(earlier, edit)


def _merge_edits(earlier: AppliedEdit | None, edit: AppliedEdit) -> AppliedEdit:
    """A repeated edit is the earlier one with a new value: undoing it restores the original."""
    return edit if earlier is None else msgspec.structs.replace(earlier, value=edit.value)


def _edit_text(
    path: Path, raw: bytes, change: Callable[[bytes], tuple[bytes, AppliedEdit]]
) -> tuple[bytes, AppliedEdit]:
    mark = _BYTE_ORDER_MARK if raw.startswith(_BYTE_ORDER_MARK) else b""
    try:
        text, edit = change(raw.removeprefix(_BYTE_ORDER_MARK))
    except NotJson as fault:
        raise _unreadable_error(path, f"line {fault.line}") from None
    except tomllib.TOMLDecodeError as fault:
        raise _unreadable_error(path, str(fault)) from None
    except errors.Conflict as conflict:
        raise _shape_error(path, raw.removeprefix(_BYTE_ORDER_MARK), conflict) from None
    return mark + text, edit


def _apply_to_text(
    path: Path, text: bytes, requested: PutValue | EnsureValue | AppendElement, earlier: AppliedEdit | None
) -> tuple[bytes, AppliedEdit]:
    if _is_toml(path):
        return _apply_to_toml(_decode_text(path, text), requested, earlier)
    document = text if text.strip(_BLANKS) else b"{}\n"
    if isinstance(requested, AppendElement):
        return json_edits.append_element(
            document, requested.at, requested.value, earlier.value if earlier else None
        )
    if isinstance(requested, EnsureValue):
        return json_edits.ensure_value(document, requested.at, requested.value)
    return json_edits.put_value(document, requested.at, requested.value)


def _apply_to_toml(
    text: str, requested: PutValue | EnsureValue | AppendElement, earlier: AppliedEdit | None
) -> tuple[bytes, AppliedEdit]:
    changed, edit = toml_edits.put_toml_value(text, requested.at, requested.value)
    if earlier is not None and changed != text:
        # Text that was added is undone as text, so a new value starts from the original.
        changed, edit = toml_edits.put_toml_value(
            toml_edits.undo_toml_edit(text, earlier), requested.at, requested.value
        )
    return changed.encode(), edit


def _undo_in_text(path: Path, edit: AppliedEdit, text: bytes) -> tuple[bytes, AppliedEdit]:
    if not text.strip(_BLANKS):
        return text, edit
    if _is_toml(path):
        return toml_edits.undo_toml_edit(_decode_text(path, text), edit).encode(), edit
    return json_edits.undo_edit(text, edit), edit


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"


def _decode_text(path: Path, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        raise _unreadable_error(path, f"line {line} is not UTF-8") from None


def _unreadable_error(path: Path, position: str) -> errors.Invalid:
    message = f"{path} cannot be read ({position}). It was not changed."
    return errors.Invalid(message, hint=_HINT, path=str(path))


def _shape_error(path: Path, text: bytes, conflict: errors.Conflict) -> errors.Conflict:
    start = conflict.details.get("start")
    line = 0 if start is None else text[:start].count(b"\n") + 1
    position = f", line {line}" if line else ""
    message = f"{path}{position}: {conflict.message}. It was not changed."
    return errors.Conflict(message, hint=_HINT, path=str(path))
