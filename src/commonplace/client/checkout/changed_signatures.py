"""Which calls break: functions whose signature one agent changed and that another's changed files call.

Both sides are read as they are on disk and compared with the commit that they have in common; a call is found by name, as
in the function registry.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.client.checkout.git_program import run_git
from commonplace.librarian.callers import find_callers
from commonplace.librarian.extract import extract_functions
from commonplace.librarian.function import SourceFunction
from commonplace.librarian.language import language_of_file

_MAX_FILES = 40
_MAX_BYTES = 300_000


class Side(NamedTuple):
    """What one agent has changed in a working tree, as paths from its root."""

    agent: str
    root: str
    files: Sequence[str]


class BrokenCall(NamedTuple):
    """A call of a function whose signature somebody else changed."""

    function: str
    declared_in: str
    before: str
    after: str
    file: str
    line: int

    def describe(self, changer: str, caller: str) -> str:
        how = f"from `{self.before}` to `{self.after}`" if self.after else f"by removing `{self.before}`"
        return (
            f"{changer} changed {self.function} ({self.declared_in}) {how}, which {caller} calls in"
            f" {self.file}:{self.line}."
        )


def list_files_changed_since(root: str, base: str) -> list[str]:
    """The files of a working tree that differ from a commit, committed or not, and those that git does not track."""
    changed = run_git("diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", base, folder=root)
    untracked = run_git("ls-files", "--others", "--exclude-standard", "-z", folder=root)
    return [name for name in f"{changed}\0{untracked}".split("\0") if name]


def find_broken_calls(changer: Side, caller: Side, base: str) -> list[BrokenCall]:
    """The calls in the caller's files of functions whose signature the changer changed since the commit `base`."""
    calling = _read_functions(caller)
    if not calling:
        return []
    declared = _read_functions(changer)
    before = _read_functions_at(changer, base)
    now = {(function.file, function.name): function for function in declared}
    changed = {
        key: function
        for key, function in before.items()
        if function.kind != "class" and (key not in now or now[key].signature != function.signature)
    }
    known = [function for key, function in before.items() if key in changed] + calling
    callers = find_callers(known)
    return [
        BrokenCall(name, file, function.signature, _signature_of(now.get((file, name))), *place)
        for (file, name), function in changed.items()
        for place in _find_lines(caller, callers.get((file, name), ()), function.short_name)
    ]


def _signature_of(function: SourceFunction | None) -> str:
    return function.signature if function else ""


def _list_source_files(side: Side) -> list[str]:
    return [file for file in side.files if language_of_file(file) and "\n" not in file][:_MAX_FILES]


def _read_functions(side: Side) -> list[SourceFunction]:
    return [
        function
        for file in _list_source_files(side)
        for function in extract_functions(file, _read_source(side.root, file))
    ]


def _read_functions_at(side: Side, commit: str) -> dict[tuple[str, str], SourceFunction]:
    return {
        (found.file, found.name): found
        for file, source in _read_blobs(side.root, commit, _list_source_files(side)).items()
        for found in extract_functions(file, source[:_MAX_BYTES])
    }


def _read_blobs(root: str, commit: str, files: Sequence[str]) -> dict[str, bytes]:
    """The contents of the files at a commit, without those that it does not have."""
    wanted = "".join(f"{commit}:{file}\n" for file in files).encode(errors="surrogateescape")
    output = run_git("cat-file", "--batch", folder=root, given=wanted).encode(errors="surrogateescape")
    blobs: dict[str, bytes] = {}
    at = 0
    for file in files:
        head, _, _ = output[at:].partition(b"\n")
        at += len(head) + 1
        if not head.endswith(b" missing"):
            size = int(head.rsplit(b" ", 1)[1])
            blobs[file] = output[at : at + size]
            at += size + 1
    return blobs


def _read_source(root: str, file: str) -> bytes:
    try:
        with (Path(root) / file).open("rb") as stream:
            return stream.read(_MAX_BYTES)
    except OSError:  # deleted
        return b""


def _find_lines(side: Side, callers: Iterable[str], name: str) -> list[tuple[str, int]]:
    """Where each caller, `file#function`, has the call; the first of each file."""
    called = re.compile(rf"\b{re.escape(name)}\s*\(".encode())
    places = []
    for file in dict.fromkeys(caller.partition("#")[0] for caller in callers):
        if file in side.files:
            lines = _read_source(side.root, file).splitlines()
            places.append((file, next((n for n, text in enumerate(lines, 1) if called.search(text)), 1)))
    return places
