"""What a command would change: worked out first, shown as a diff, then written."""

import copy
import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace import errors
from commonplace.client.install import documents, files, record
from commonplace.client.install.record import FileRecord, Installed
from commonplace.client.install.wishes import Append, Edit, Ensure, Part, Put, Wish

_ACTS = {Put: "put", Ensure: "ensure", Append: "append"}
_BEARER = re.compile(r"(Bearer )(?!\$|\{)[^\s\"']+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A wish, and for whom."""

    wish: Wish
    agent: str = ""
    part: Part = "connection"


@dataclass(frozen=True, slots=True)
class Change:
    path: Path
    before: bytes | None
    after: bytes | None
    record: FileRecord

    def diff(self, secrets: Collection[str] = ()) -> str:
        """As `diff -u` shows it; keys are not shown."""
        sides = (self.before, self.after)
        before, after = (_lines(each, secrets) for each in sides)
        here, there = ("/dev/null" if each is None else str(self.path) for each in sides)
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(before, after, here, there)
        )


def additions(
    installed: Installed, wanted: Sequence[Wanted], parts: Collection[tuple[str, Part]] = ()
) -> list[Change]:
    """What has to change for the wishes to come true. All that was done earlier for one of `parts` and is wanted no
    more goes.
    """
    paths = dict.fromkeys(each.wish.path for each in wanted)
    paths |= dict.fromkeys(Path(each.path) for each in installed.files if _parts(each) & set(parts))
    changes = [
        _addition(installed, path, [each for each in wanted if each.wish.path == path], parts)
        for path in paths
    ]
    return [change for change in changes if change.before != change.after]


def removals(installed: Installed, agents: Collection[str]) -> list[Change]:
    """What has to change for all that was added for these agents to be gone."""
    changes = []
    for known in installed.files:
        path = Path(known.path)
        going = [edit for edit in known.edits if edit.agent in agents]
        if going:
            raw = files.read(path)
            changes.append(Change(path, raw, *_reduced(path, raw, copy.deepcopy(known), going)))
    return changes


def carry_out(changes: Sequence[Change], installed: Installed, secrets: Collection[str] = ()) -> Path | None:
    """Write the changes; where the files as they were are kept, if there were any. What goes was ours alone."""
    _note(changes, installed)
    backups, kept = files.backups(), None
    for change in changes:
        if files.read(change.path) != change.before:
            raise errors.Conflict(f"{change.path} was changed by somebody else.", hint="Try again.")
        if change.before is not None and change.after not in {None, change.before}:
            files.back_up(change.path, change.before, backups)
            kept = backups
        _write(change, secrets)
    _tidy(changes, installed)
    return kept


def _addition(
    installed: Installed, path: Path, wanted: Sequence[Wanted], parts: Collection[tuple[str, Part]]
) -> Change:
    raw = files.read(path)
    known = copy.deepcopy(installed.file(path)) if raw is not None else None
    known = known or FileRecord(str(path), created=raw is None, blank=_blank(raw))
    kept = {_identity(edit) for edit in known.edits} - {_wished(each) for each in wanted}
    stale = [edit for edit in known.edits if _identity(edit) in kept and (edit.agent, edit.part) in parts]
    after, known = _reduced(path, raw, known, stale) if stale else (raw, known)
    for each in wanted:
        after = _fulfilled(path, after, each, known)
    return Change(path, raw, after, known)


def _fulfilled(path: Path, raw: bytes | None, wanted: Wanted, known: FileRecord) -> bytes:
    earlier = next((edit for edit in known.edits if _identity(edit) == _wished(wanted)), None)
    after, edit = documents.fulfil(path, raw, wanted.wish, earlier)
    if earlier is None and after == raw:
        return after
    edit.agent, edit.part = wanted.agent, wanted.part
    place = known.edits.index(earlier) if earlier is not None else len(known.edits)
    known.edits[place : place + 1] = [edit]
    return after


def _reduced(
    path: Path, raw: bytes | None, known: FileRecord, going: Sequence[Edit]
) -> tuple[bytes | None, FileRecord]:
    """The file and its record without these edits."""
    after = None if raw is None else documents.undo(path, raw, going)
    known.edits = [edit for edit in known.edits if edit not in going]
    if after is not None and not known.edits and documents.is_empty(path, after):
        if known.created:
            after = None
        elif known.blank is not None:
            after = known.blank.encode()
    return after, known


def _identity(edit: Edit) -> tuple[str, str, str, tuple[str, ...]]:
    return edit.agent, edit.part, edit.act, tuple(edit.at)


def _wished(wanted: Wanted) -> tuple[str, str, str, tuple[str, ...]]:
    act = _ACTS.get(type(wanted.wish), "whole")
    return wanted.agent, wanted.part, act, getattr(wanted.wish, "at", ())


def _parts(known: FileRecord) -> set[tuple[str, Part]]:
    return {(edit.agent, edit.part) for edit in known.edits}


def _blank(raw: bytes | None) -> str | None:
    return raw.decode() if raw is not None and not raw.removeprefix(b"\xef\xbb\xbf").strip() else None


def _note(changes: Sequence[Change], installed: Installed) -> None:
    """Before anything is written: whatever happens then, all that may stand in a file is known."""
    for change in changes:
        made = files.missing_folders(change.path) if change.after is not None else []
        installed.folders += [folder for folder in made if folder not in installed.folders]
        known = installed.file(change.path)
        if known is None or len(change.record.edits) >= len(known.edits):
            installed.keep(change.record)
    record.save(installed)


def _write(change: Change, secrets: Collection[str]) -> None:
    try:
        files.sweep(change.path)
        if change.after is None:
            change.path.unlink(missing_ok=True)
        elif change.after != change.before:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            private = any(secret and secret.encode() in change.after for secret in secrets)
            files.write(change.path, change.after, private=private)
    except OSError as fault:
        raise errors.Unavailable(f"{change.path} can not be written ({fault.strerror}).") from None


def _tidy(changes: Sequence[Change], installed: Installed) -> None:
    """Forget what is gone, and remove the folders that were made for it and hold nothing any more."""
    for change in changes:
        installed.keep(change.record)
    record.save(installed)
    left = [folder for folder in reversed(installed.folders) if not files.removed_if_empty(Path(folder))]
    installed.folders = left[::-1]
    record.save(installed)


def _lines(content: bytes | None, secrets: Collection[str]) -> list[str]:
    text = (content or b"").decode(errors="replace")
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return _BEARER.sub(r"\1***", text).splitlines(keepends=True)
