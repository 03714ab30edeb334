"""The settings files of agents: read, changed and given back with their encoding, line ends and byte order mark."""

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from commonplace import errors
from commonplace.client.install import json_edits, toml_edits
from commonplace.client.install.jsonc import NotJson
from commonplace.client.install.wishes import Append, Edit, Ensure, Put, Whole, Wish

_MARK = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
_HINT = "Mend the file, or see what belongs in it with: commonplace connect AGENT --print"


def fulfil(path: Path, raw: bytes | None, wish: Wish, earlier: Edit | None) -> tuple[bytes, Edit]:
    """The file with the wish in it, and the edit that takes it back; `earlier` did the same wish before."""
    if isinstance(wish, Whole):
        return _whole(raw, wish, earlier)
    changed, edit = _inside(path, raw or b"", lambda text: _change(path, text, wish, earlier))
    afresh = changed != raw and (_is_toml(path) or edit.made < len(edit.at))
    return changed, edit if afresh else _one(earlier, edit)


def undo(path: Path, raw: bytes, edits: Sequence[Edit]) -> bytes | None:
    """The file without what the edits added, the last one first; nothing if a file that is ours goes."""
    for edit in reversed(edits):
        if edit.act == "whole":
            return edit.before.encode() if edit.before is not None else None
        raw, _ = _inside(path, raw, partial(_revert, path, edit))
    return raw


def is_empty(path: Path, raw: bytes) -> bool:
    """Nothing stands in the file but what every file of its kind has."""
    text = raw.removeprefix(_MARK)
    return not text.strip(_BLANKS) or (not _is_toml(path) and json_edits.is_empty(text))


def _whole(raw: bytes | None, wish: Whole, earlier: Edit | None) -> tuple[bytes, Edit]:
    edit = Edit("whole", [], made=1)
    if raw is not None and raw != wish.text.encode():
        edit.before = _decoded(wish.path, raw)
    return wish.text.encode(), _one(earlier, edit)


def _one(earlier: Edit | None, edit: Edit) -> Edit:
    """An edit of what we wrote before is the same edit with another value: taking it back leads to the beginning."""
    return edit if earlier is None else msgspec.structs.replace(earlier, value=edit.value)


def _inside(path: Path, raw: bytes, change: Callable[[bytes], tuple[bytes, Edit]]) -> tuple[bytes, Edit]:
    mark = _MARK if raw.startswith(_MARK) else b""
    try:
        text, edit = change(raw.removeprefix(_MARK))
    except NotJson as fault:
        raise _unreadable(path, f"line {fault.line}") from None
    except tomllib.TOMLDecodeError as fault:
        raise _unreadable(path, str(fault)) from None
    except errors.Conflict as conflict:
        raise _of_another_shape(path, raw.removeprefix(_MARK), conflict) from None
    return mark + text, edit


def _change(path: Path, text: bytes, wish: Put | Ensure | Append, earlier: Edit | None) -> tuple[bytes, Edit]:
    if _is_toml(path):
        return _change_toml(_decoded(path, text), wish, earlier)
    given = text if text.strip(_BLANKS) else b"{}\n"
    if isinstance(wish, Append):
        return json_edits.append(given, wish.at, wish.value, earlier.value if earlier else None)
    if isinstance(wish, Ensure):
        return json_edits.ensure(given, wish.at, wish.value)
    return json_edits.put(given, wish.at, wish.value)


def _change_toml(text: str, wish: Put | Ensure | Append, earlier: Edit | None) -> tuple[bytes, Edit]:
    changed, edit = toml_edits.put(text, wish.at, wish.value)
    if earlier is not None and changed != text:
        # What was added as text is taken away as that text, so another value means to begin again.
        changed, edit = toml_edits.put(toml_edits.undo(text, earlier), wish.at, wish.value)
    return changed.encode(), edit


def _revert(path: Path, edit: Edit, text: bytes) -> tuple[bytes, Edit]:
    if not text.strip(_BLANKS):
        return text, edit
    if _is_toml(path):
        return toml_edits.undo(_decoded(path, text), edit).encode(), edit
    return json_edits.undo(text, edit), edit


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"


def _decoded(path: Path, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        raise _unreadable(path, f"line {line} is not UTF-8") from None


def _unreadable(path: Path, place: str) -> errors.Invalid:
    told = f"{path} can not be read ({place}). It was left as it is."
    return errors.Invalid(told, hint=_HINT, path=str(path))


def _of_another_shape(path: Path, text: bytes, conflict: errors.Conflict) -> errors.Conflict:
    start = conflict.details.get("start")
    line = 0 if start is None else text[:start].count(b"\n") + 1
    place = f", line {line}" if line else ""
    told = f"{path}{place}: {conflict.message}. It was left as it is."
    return errors.Conflict(told, hint=_HINT, path=str(path))
