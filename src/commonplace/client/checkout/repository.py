"""git beside a working tree: a shadow index that knows the working files as they were last seen, objects of our own in
which every uncommitted version is kept, and the few questions that the ledger of lines asks."""

import os
import shutil
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.client.checkout.git_program import GitFailed, run_git_bytes

_MAX_FILE_BYTES = 5_000_000
_MAX_NAMED_PATHS = 200
_QUIET_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "core.splitIndex=false", "-c", "core.safecrlf=false")
_SUBMODULE = "160000"
_IN_PROGRESS = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD", "sequencer")


class FileState(NamedTuple):
    """A file's mode and blob; both empty if it does not exist."""

    mode: str = ""
    blob: str = ""


ABSENT = FileState()


class Repository:
    def __init__(self, root: str, folder: Path) -> None:
        self.root = root
        self._index, self._objects = folder / "index", folder / "objects"
        git_folder, shared, index = self._run("rev-parse", "--absolute-git-dir", "--git-common-dir", "--git-path", "index").decode().splitlines()  # fmt: skip
        self.git_folder = Path(git_folder)
        self._shared_objects = Path(root, shared, "objects").resolve()
        self.index = str(Path(root, index))

    def _run(self, *words: str, given: bytes = b"", index: str = "", keeps_objects: bool = False) -> bytes:
        """`keeps_objects` writes objects into our folder, where no command of an agent destroys them."""
        environ = {"GIT_INDEX_FILE": index} if index else {}
        if keeps_objects:
            environ["GIT_OBJECT_DIRECTORY"] = str(self._objects)
            environ["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(self._shared_objects)
        return run_git_bytes(*_QUIET_SETTINGS, "--literal-pathspecs", *words, folder=self.root, given=given, environ=environ)  # fmt: skip

    def _run_shadow(self, *words: str, given: bytes = b"") -> bytes:
        return self._run(*words, given=given, index=str(self._index), keeps_objects=True)

    @property
    def is_busy(self) -> bool:
        """Whether a merge, rebase, cherry-pick or revert is in progress."""
        return any((self.git_folder / name).exists() for name in _IN_PROGRESS)

    def read_head(self) -> str:
        """The commit of HEAD; empty before the first."""
        try:
            return self._run("rev-parse", "-q", "--verify", "HEAD").decode().strip()
        except GitFailed:
            return ""

    def refresh(self, paths: Sequence[str] = ()) -> dict[str, tuple[FileState, FileState]]:
        """What has changed in the working tree, or in these files, since the last call: the state before and after."""
        self._make_index()
        names = list(paths) or self.list_stale()
        names = [name for name in names if self._is_kept(name)]
        if not names:
            return {}
        before = self.list_states(names, str(self._index))
        given = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)
        self._run_shadow("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=given)
        after = self.list_states(names, str(self._index))
        states = {name: (before.get(name, ABSENT), after.get(name, ABSENT)) for name in names}
        return {
            name: both
            for name, both in states.items()
            if both[0] != both[1] and _SUBMODULE not in (both[0].mode, both[1].mode)
        }

    def list_stale(self) -> list[str]:
        self._make_index()
        output = self._run_shadow("ls-files", "-z", "-m", "-o", "--exclude-standard")
        return list(dict.fromkeys(_split_names(output)))

    def _make_index(self) -> None:
        """The first time, the files count as known as git's own index knows them."""
        if not self._index.exists():
            self._objects.mkdir(mode=0o700, parents=True, exist_ok=True)
            if Path(self.index).exists():
                shutil.copyfile(self.index, self._index)

    def _is_kept(self, name: str) -> bool:
        path = f"{self.root}/{name}"
        try:
            found = os.lstat(path)
        except OSError:
            return not name.endswith("/")
        is_folder = os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114 - a text
        is_readable = os.path.islink(path) or os.access(path, os.R_OK)  # noqa: PTH114
        return not is_folder and is_readable and found.st_size <= _MAX_FILE_BYTES

    def list_states(self, names: Collection[str], index: str = "") -> dict[str, FileState]:
        """The entries of an index; of a file with a conflict, none."""
        words = [*names] if len(names) <= _MAX_NAMED_PATHS else []
        lines = _split_names(self._run("ls-files", "-s", "-z", "--", *words, index=index or self.index))
        found: dict[str, FileState] = {}
        for line in lines:
            facts, _, name = line.partition("\t")
            mode, blob, stage = facts.split(" ")
            if stage == "0" and name in names:
                found[name] = FileState(mode, blob)
        return found

    def list_known(self, names: Collection[str]) -> dict[str, FileState]:
        """The files as they were last seen."""
        return self.list_states(names, str(self._index))

    def list_committed(self, names: Collection[str], commit: str = "HEAD") -> dict[str, FileState]:
        words = [*names] if len(names) <= _MAX_NAMED_PATHS else []
        try:
            output = self._run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *words)
        except GitFailed:  # no commit yet
            return {}
        found: dict[str, FileState] = {}
        for line in _split_names(output):
            facts, _, name = line.partition("\t")
            mode, _, blob = facts.split(" ")[:3]
            if name in names:
                found[name] = FileState(mode, blob)
        return found

    def list_staged_changes(self, index: str, base: str) -> dict[str, FileState]:
        """The files in which an index differs from a commit, with their staged state."""
        base = base or self._empty_tree
        return _parse_raw(self._run("diff-index", "--cached", "--no-renames", "-z", base, index=index))

    def list_commit_changes(self, commit: str, base: str) -> dict[str, FileState]:
        base = base or self._empty_tree
        return _parse_raw(self._run("diff-tree", "-r", "--no-renames", "-z", base, commit))

    @property
    def _empty_tree(self) -> str:
        return self._run("hash-object", "-t", "tree", os.devnull).decode().strip()

    def read_blobs(self, blobs: Iterable[str]) -> dict[str, bytes | None]:
        """The contents by blob; None for the empty name, which stands for a file that does not exist."""
        found: dict[str, bytes | None] = {"": None}
        missing: list[str] = []
        for blob in dict.fromkeys(blobs):
            content = self._read_kept(blob) if blob else None
            if content is not None:
                found[blob] = content
            elif blob:
                missing.append(blob)
        if missing:
            output = self._run("cat-file", "--batch", given="".join(f"{blob}\n" for blob in missing).encode())
            for blob in missing:
                head, _, output = output.partition(b"\n")
                if head.endswith(b" missing"):
                    raise GitFailed(f"the object {blob} is gone")
                size = int(head.rpartition(b" ")[2])
                found[blob], output = output[:size], output[size + 1 :]
        return found

    def _read_kept(self, blob: str) -> bytes | None:
        try:
            raw = zlib.decompress((self._objects / blob[:2] / blob[2:]).read_bytes())
        except (OSError, zlib.error):
            return None
        return raw.partition(b"\0")[2]

    def list_brought_back(self, names: Collection[str], moment: float) -> set[str]:
        """The files that are gone, or have a content that the repository had before: a command of git brought it back.

        To be asked before `refresh`, which renews the times of objects.
        """
        there = [name for name in names if os.path.lexists(f"{self.root}/{name}") and self._is_kept(name)]
        given = b"".join(
            name.encode("utf-8", "surrogateescape") + b"\n" for name in there if "\n" not in name
        )
        blobs = self._run("hash-object", "--stdin-paths", given=given).decode().split() if given else []
        older = {name for name, blob in zip(there, blobs, strict=True) if self._is_older(blob, moment)}
        return older | (set(names) - set(there))

    def _is_older(self, blob: str, moment: float) -> bool:
        try:
            return (self._shared_objects / blob[:2] / blob[2:]).stat().st_mtime < moment
        except OSError:
            pass
        try:
            self._run("cat-file", "-e", blob)
        except GitFailed:
            return False
        return True  # packed

    def write_blob(self, content: bytes) -> str:
        return self._run("hash-object", "-w", "--stdin", given=content).decode().strip()

    def keep_blob(self, content: bytes) -> str:
        return self._run("hash-object", "-w", "--stdin", given=content, keeps_objects=True).decode().strip()

    def stage(self, states: Mapping[str, FileState], index: str = "") -> None:
        """Put these entries into an index; an absent one is taken out."""
        null = b"0" * 40
        lines = [
            (f"{state.mode} {state.blob}\t".encode() if state.blob else b"0 " + null + b"\t")
            + name.encode("utf-8", "surrogateescape")
            for name, state in states.items()
        ]
        if lines:
            self._run("update-index", "-z", "--index-info", given=b"\0".join(lines) + b"\0", index=index or self.index)  # fmt: skip

    def write_files(self, states: Mapping[str, FileState]) -> None:
        """Write these states into the working tree, as git would check them out; the shadow index knows them then."""
        self.stage(states, str(self._index))
        names = [name for name, state in states.items() if state.blob]
        given = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)
        for name, state in states.items():
            path = Path(self.root, name)
            if not state.blob:
                path.unlink(missing_ok=True)
            elif path.parent.is_file():  # a file stands where its folder was
                path.parent.unlink()
        self._run_shadow("checkout-index", "-f", "-u", "-z", "--stdin", given=given)

    def write_tree(self, index: str) -> str:
        return self._run("write-tree", index=index).decode().strip()

    def read_commit(self, commit: str) -> bytes:
        return self._run("cat-file", "commit", commit)

    def replace_head(self, old: str, tree_changes: Mapping[str, FileState]) -> str:
        """Give the last commit other entries, with everything else as it is; an empty one is undone."""
        raw = self.read_commit(old)
        index = str(self._index) + ".commit"
        try:
            self._run("read-tree", old, index=index)
            self.stage(tree_changes, index)
            tree = self.write_tree(index)
        finally:
            Path(index).unlink(missing_ok=True)
        head, _, message = raw.partition(b"\n\n")
        parents = [line[7:].decode() for line in head.split(b"\n") if line.startswith(b"parent ")]
        base = self._run("rev-parse", f"{parents[0]}^{{tree}}").decode().strip() if parents else ""
        if len(parents) < 2 and tree == (base or self._empty_tree):  # noqa: PLR2004 - no merge
            self._run(*(["update-ref", "HEAD", parents[0], old] if parents else ["update-ref", "-d", "HEAD", old]))  # fmt: skip
            return parents[0] if parents else ""
        lines = [line for line in _unfold(head) if not line.startswith((b"gpgsig", b"tree "))]
        given = b"\n".join([b"tree " + tree.encode(), *lines]) + b"\n\n" + message
        commit = self._run("hash-object", "-t", "commit", "-w", "--stdin", given=given).decode().strip()
        self._run("update-ref", "-m", "commit: own lines", "HEAD", commit, old)
        return commit

    def read_tree_of(self, commit: str) -> str:
        return self._run("rev-parse", f"{commit}^{{tree}}").decode().strip()


def _split_names(output: bytes) -> list[str]:
    return [name for name in output.decode("utf-8", "surrogateescape").split("\0") if name]


def _parse_raw(output: bytes) -> dict[str, FileState]:
    """`:MODE MODE BLOB BLOB STATUS` and the name, by turns."""
    words = [word for word in _split_names(output) if word]
    if words and not words[0].startswith(":"):  # diff-tree names the commit first
        words = words[1:]
    found: dict[str, FileState] = {}
    for facts, name in zip(words[::2], words[1::2], strict=True):
        _, mode, _, blob, _ = facts.split(" ")
        found[name] = ABSENT if mode == "000000" else FileState(mode, blob)
    return {name: state for name, state in found.items() if state.mode != _SUBMODULE}


def _unfold(head: bytes) -> list[bytes]:
    """The headers of a commit, each with its continuation lines."""
    lines: list[bytes] = []
    for line in head.split(b"\n"):
        if line.startswith(b" ") and lines:
            lines[-1] += b"\n" + line
        else:
            lines.append(line)
    return lines
