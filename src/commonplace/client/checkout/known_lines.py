"""What `Checkout` does with the ledger locked: look at the tree and at HEAD, and keep the weaves of the files."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from commonplace.client.checkout.ledger import Author, FileRecord, Ledger
from commonplace.client.checkout.repository import ABSENT, FileState, Repository
from commonplace.client.checkout.weave import ADDED, DELETED, NOBODY, IsOwn, Weave

GONE = "gone"
"""The process of an author whose session has ended."""


class KnownLines:
    def __init__(self, root: str) -> None:
        self.root = root
        self._ledger = Ledger(root)
        self._repository = Repository(root, self._ledger.folder)
        self._blobs: dict[str, bytes | None] = {}

    @property
    def folder(self) -> Path:
        """Where the ledger is kept."""
        return self._ledger.folder

    @contextmanager
    def _open_ledger(self, author: Author | None = None) -> Iterator[Ledger]:
        with self._ledger.open_locked():
            if author is not None:
                self._ledger.authors[author.id] = author
            yield self._ledger

    def _own_test(self, author: Author) -> IsOwn:
        """Lines of the author, of its sub-agents, and of windows with its name that have ended."""
        authors = self._ledger.authors

        def is_own(owner: str) -> bool:
            if owner == author.id or owner.startswith(f"{author.id}/"):
                return True
            other = authors.get(owner, Author(owner))
            if other.parent == author.id:
                return True
            return bool(other.name) and other.name == author.name and _is_gone(other)

        return is_own

    def _name_author(self, key: str) -> Author:
        return self._ledger.authors.get(key, Author(key, key[:8]))

    def _find_sole_author(self, acting: str = "") -> str:
        """Whose the changes are that nobody has reported: who alone runs a command; of two at once, nobody's."""
        authors = {run.author for run in self._ledger.running.values()} | ({acting} if acting else set())
        return authors.pop() if len(authors) == 1 else NOBODY

    def _list_paths_of_others(self, is_own: IsOwn) -> list[str]:
        return [
            path
            for path, record in self._ledger.files.items()
            if any(kind != "k" and by != NOBODY and not is_own(by) for kind, _, by in record.runs)
        ]

    def _observe(self, author: str, paths: Sequence[str] = ()) -> None:
        self._observe_files(author, paths)
        self._follow_head()

    def _observe_files(self, author: str, paths: Sequence[str] = ()) -> None:
        self._follow_head(only_expected=True)
        for path, (before, after) in self._repository.refresh(paths).items():
            self._record(path, before, after, author)

    def _read(self, blob: str) -> bytes | None:
        if blob not in self._blobs:
            self._blobs |= self._repository.read_blobs([blob])
        return self._blobs[blob]

    def _load_weave(self, record: FileRecord) -> Weave:
        self._blobs |= self._repository.read_blobs({record.head, record.work} - self._blobs.keys())
        return Weave.from_runs(self._blobs[record.head], self._blobs[record.work], record.runs)

    def _load_known(self, path: str, work: str) -> tuple[Weave, str]:
        """The weave of a file whose working blob is this, and HEAD's blob; what nobody has reported is nobody's."""
        record = self._ledger.files.get(path)
        if record is None:
            head = self._repository.list_committed([path], self._ledger.head).get(path, ABSENT).blob
            weave = Weave.from_head(self._read(head))
        else:
            head, weave = record.head, self._load_weave(record)
        weave.record_change(self._read(work), NOBODY)
        return weave, head

    def _record(self, path: str, before: FileState, after: FileState, author: str) -> None:
        if author == NOBODY and path not in self._ledger.files:
            return
        weave, head = self._load_known(path, before.blob)
        weave.record_change(self._read(after.blob), author)
        self._save_weave(path, weave, head, after.blob, after.mode or before.mode)

    def _save_weave(self, path: str, weave: Weave, head: str, work: str, mode: str) -> None:
        if all(kind == "k" and by == NOBODY for kind, _, by in weave.runs):
            self._ledger.files.pop(path, None)
        else:
            self._ledger.files[path] = FileRecord(head, work, mode, weave.runs, time.time())

    def _follow_head(self, *, only_expected: bool = False) -> None:
        """HEAD has moved: what it has now is committed. A commit that was filtered here is known line by line."""
        ledger = self._ledger
        if only_expected and all(record.expected_head is None for record in ledger.files.values()):
            return
        head = self._repository.read_head()
        if head == ledger.head:
            return
        committed = (
            self._repository.list_committed(ledger.files.keys(), head) if ledger.files and head else {}
        )
        for path, record in list(ledger.files.items()):
            blob = committed.get(path, ABSENT).blob
            if blob == record.head:
                continue
            if blob == record.expected_head:
                changed = record._replace(head=blob, runs=record.expected_runs, expected_head=None)
                ledger.files[path] = changed._replace(expected_runs=[])
            elif not only_expected:
                weave = self._load_weave(record)
                weave.follow_head(self._read(blob))
                self._save_weave(path, weave, blob, record.work, record.mode)
        if not only_expected:
            ledger.head = head

    def _list_losers(self, path: str, before: FileState, after: FileState, is_own: IsOwn) -> list[str]:
        """Of whom else uncommitted lines, or deletions, are undone by this change."""
        if path not in self._ledger.files:
            return []
        weave, _ = self._load_known(path, before.blob)
        present = weave.align(self._read(after.blob)).present
        return sorted(
            {
                by
                for (kind, _, by), has in zip(weave.entries, present, strict=True)
                if by != NOBODY and not is_own(by) and has == (kind == DELETED) and kind in (ADDED, DELETED)
            }
        )

    def _keep_lost(self, path: str, before: FileState, command: str, by: str) -> None:
        """Remember the version before, which our own objects keep."""
        fields = {
            "at": time.time(),
            "path": path,
            "blob": before.blob,
            "mode": before.mode,
            "command": command[:200],
            "by": by,
        }
        with (self._ledger.folder / "lost.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(fields) + "\n")

    def _write_as(self, author: str, states: dict[str, FileState]) -> None:
        before = self._repository.list_known(states.keys())
        self._repository.write_files(states)
        for path, state in states.items():
            self._record(path, before.get(path, ABSENT), state, author)

    def _follow_renames(
        self, changes: dict[str, tuple[FileState, FileState]], author: str
    ) -> dict[str, tuple[FileState, FileState]]:
        """A file that was renamed as it is keeps the authors of its lines."""
        ledger = self._ledger
        gone = {
            before.blob: path
            for path, (before, after) in changes.items()
            if before.blob and not after.blob and path in ledger.files
        }
        for path, (before, after) in changes.items():
            old = gone.get(after.blob) if not before.blob else None
            if old is None or old not in ledger.files:
                continue
            record = ledger.files[old]
            weave = self._load_weave(record)
            added = [
                (ADDED, token, by if kind == ADDED else author)
                for kind, token, by in weave.entries
                if kind != DELETED
            ]
            deleted = [(DELETED, token, author) for kind, token, _ in weave.entries if kind != ADDED]
            self._save_weave(path, Weave(added), "", after.blob, after.mode)
            self._save_weave(old, Weave(deleted), record.head, "", record.mode)
        return {
            path: both
            for path, both in changes.items()
            if not (path in ledger.files and ledger.files[path].work == both[1].blob)
        }


def _is_gone(author: Author) -> bool:
    from commonplace.client.companion.agent_process import is_process_gone

    return author.process == GONE or (bool(author.process) and is_process_gone(author.process))
