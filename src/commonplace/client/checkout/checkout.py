"""One working tree that several agents share, as the hooks, the commits and the companion use it.

    checkout = Checkout.open(root)                      # None outside of a repository
    checkout.note_before_edit(author, path)             # before an editing tool: what others did meanwhile is not its
    checkout.record_edit(author, path)                  # after it: the difference is the author's
    checkout.begin_command(author, key, command)        # before a shell command
    outcome = checkout.end_command(author, key)         # after it: what it changed is its; what it destroyed is back
    plan = checkout.filter_index(author, index)         # in pre-commit: the index has the author's own lines only
    plan = checkout.settle_commit(author)               # in post-commit, or after a commit that ran no hook
    others = checkout.describe_others(author)           # whose uncommitted lines are where

Paths count from the root. An object keeps nothing between calls but the place: every call locks the ledger, reads it,
and writes it, so it may be used by a resident process and by hooks of one event at the same time, in any order.
"""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from commonplace.client.checkout.head_log import read_head_log
from commonplace.client.checkout.known_lines import GONE, KnownLines
from commonplace.client.checkout.ledger import Author, RunningCommand
from commonplace.client.checkout.repository import ABSENT, FileState
from commonplace.client.checkout.weave import NOBODY, IsOwn, OwnVersion, Weave
from commonplace.client.project import find_repository

_MAX_LOST_LISTED = 500


class LeftLines(NamedTuple):
    """Lines of another author in a file that a commit or the index did not take."""

    path: str
    name: str
    added: int
    deleted: int


class CommitPlan(NamedTuple):
    """What was left to others; `is_empty` if nothing of one's own was left of what git would have taken."""

    left: list[LeftLines] = []
    is_empty: bool = False


class OtherLines(NamedTuple):
    """Uncommitted lines of another in a file as it is now."""

    path: str
    author: Author
    lines: list[int]
    at: float


class LostLines(NamedTuple):
    """A version of a file with uncommitted lines that a command removed."""

    at: float
    path: str
    blob: str
    mode: str
    command: str
    by: str


class CommandOutcome(NamedTuple):
    restored: dict[str, list[Author]] = {}
    """Files that the command had destroyed lines of others in, and whose."""
    rewritten: dict[str, list[Author]] = {}
    """Files in which it changed or removed uncommitted lines of others, on purpose as it seems."""
    plan: CommitPlan = CommitPlan()
    has_committed: bool = False


class Checkout(KnownLines):
    @classmethod
    def open(cls, path: str) -> "Checkout | None":
        """The innermost working tree around a file or folder; raises GitFailed if git does not answer."""
        place = Path(path).resolve()
        root = find_repository(place if place.is_dir() else place.parent)
        return cls(str(root)) if root else None

    def note_before_edit(self, author: Author, path: str) -> None:
        with self._open_ledger(author):
            self._observe(self._find_sole_author(), [path])

    def record_edit(self, author: Author, path: str) -> None:
        with self._open_ledger(author):
            self._observe(author.id, [path])

    def begin_command(self, author: Author, key: str, command: str) -> None:
        with self._open_ledger(author) as ledger:
            self._observe(self._find_sole_author())
            paths = self._list_paths_of_others(self._own_test(author))
            states = self._repository.list_states(paths) if paths else {}
            staged = {path: tuple(states.get(path, ABSENT)) for path in paths}
            ledger.running[key] = RunningCommand(author.id, command[:500], time.time(), ledger.head, staged)  # type: ignore[arg-type]

    def end_command(self, author: Author, key: str) -> CommandOutcome:
        """What the command changed is the author's, unless others ran one at the same time."""
        with self._open_ledger(author) as ledger:
            run = ledger.running.get(key)
            if run is None:
                self._observe(self._find_sole_author(author.id))
                return CommandOutcome()
            is_own = self._own_test(author)
            by = self._find_sole_author()
            self._follow_head(only_expected=True)
            stale, others = self._repository.list_stale(), set(self._list_paths_of_others(is_own))
            brought_back = self._repository.list_brought_back(others.intersection(stale), run.at)
            changes = self._repository.refresh(stale) if stale else {}
            restored = self._restore_destroyed(changes, brought_back, run, is_own)
            rewritten = self._list_rewritten(changes, run, is_own)
            for path, (before, after) in self._follow_renames(changes, author.id).items():
                self._record(path, before, after, by)
            plan = self._settle_commit(author, is_own)
            self._follow_head()
            left = self._narrow_index(run, is_own, author.id)
            del ledger.running[key]
            plan = CommitPlan(plan.left + left, plan.is_empty)
            return CommandOutcome(restored, rewritten, plan, ledger.head != run.head)

    def end_author(self, author: Author) -> None:
        """Its session has ended: commands of it run no more, and who has its name next has its lines."""
        with self._open_ledger() as ledger:
            ledger.running = {key: run for key, run in ledger.running.items() if run.author != author.id}
            for key, known in list(ledger.authors.items()):
                if author.id in (key, known.parent):
                    ledger.authors[key] = known._replace(process=GONE)

    def end_turn(self, author: Author) -> None:
        """A turn is over: commands whose end was not reported have ended."""
        with self._open_ledger() as ledger:
            if any(run.author == author.id for run in ledger.running.values()):
                self._observe(self._find_sole_author())
                ledger.running = {key: run for key, run in ledger.running.items() if run.author != author.id}

    def find_running(self, ids: Iterable[str], command_lines: Sequence[str]) -> Author | None:
        """Whose of these sessions' commands runs git: the one, else the one that the processes above name."""
        self._ledger.load()
        wanted = set(ids)
        runs = [
            run
            for run in self._ledger.running.values()
            if not wanted or run.author in wanted or run.author.partition("/")[0] in wanted
        ]
        if len({run.author for run in runs}) > 1:
            runs = [run for run in runs if any(_contains(line, run.command) for line in command_lines)]
        authors = {run.author for run in runs}
        return self._ledger.authors.get(authors.pop()) if len(authors) == 1 else None

    def filter_index(self, author: Author, index: str = "", *, may_be_empty: bool = False) -> CommitPlan:
        """Take the lines of others out of the index of the commit that is being made; it stays as it is if nothing is
        left that may be committed."""
        index = index or self._repository.index
        if self._repository.is_busy:
            return CommitPlan()
        with self._open_ledger(author) as ledger:
            self._observe(self._find_sole_author(author.id))
            is_own = self._own_test(author)
            others = set(self._list_paths_of_others(is_own))
            if not others:
                ledger.checked_trees.append(self._repository.write_tree(index))
                return CommitPlan()
            staged = self._repository.list_staged_changes(index, ledger.head)
            wanted = {path: state for path, state in staged.items() if path in others}
            chosen, left = self._select_own(wanted, is_own, author.id)
            self._repository.stage(chosen, index)
            is_empty = bool(left) and not self._repository.list_staged_changes(index, ledger.head)
            if is_empty and not may_be_empty:
                self._repository.stage(wanted, index)
                return CommitPlan(left, is_empty)
            ledger.mended = self._find_mended(chosen, wanted, is_own, author.id)
            ledger.checked_trees.append(self._repository.write_tree(index))
            return CommitPlan(left, is_empty)

    def settle_commit(self, author: Author) -> CommitPlan:
        """After a commit: HEAD is followed, the index is as it was for others, and a commit that no hook filtered is
        replaced by one with the author's own lines."""
        if self._repository.is_busy:  # a rebase may have put everything aside for the moment
            return CommitPlan()
        with self._open_ledger(author):
            self._observe_files(self._find_sole_author(author.id))
            plan = self._settle_commit(author, self._own_test(author))
            self._follow_head()
            return plan

    def take_lines(self, author: Author, paths: Sequence[str]) -> list[str]:
        """The author owns all uncommitted lines of these files from now on; the files in which it got any."""
        taken: list[str] = []
        with self._open_ledger(author) as ledger:
            self._observe(self._find_sole_author())
            for path in paths:
                record = ledger.files.get(path)
                if record and any(run[0] != "k" and run[2] not in (NOBODY, author.id) for run in record.runs):
                    runs = [
                        (kind, count, author.id if kind != "k" else by) for kind, count, by in record.runs
                    ]
                    ledger.files[path] = record._replace(runs=runs, expected_head=None)
                    taken.append(path)
        return taken

    def take_own_out(self, author: Author, paths: Sequence[str]) -> dict[str, tuple[FileState, FileState]]:
        """Revert the author's own uncommitted lines in these files, or in all; each file's state with and without."""
        with self._open_ledger(author) as ledger:
            self._observe(self._find_sole_author())
            is_own = self._own_test(author)
            changed: dict[str, tuple[FileState, FileState]] = {}
            for path in paths or list(ledger.files):
                record = ledger.files.get(path)
                if record is None or all(run[0] == "k" or not is_own(run[2]) for run in record.runs):
                    continue
                weave = self._load_weave(record)
                rest = weave.select_own(weave.work, lambda owner: not is_own(owner), NOBODY).content
                if rest is None and any(not is_own(by) for by in weave.authors):
                    continue
                blob = "" if rest is None else self._repository.keep_blob(rest)
                changed[path] = (FileState(record.mode, record.work), FileState(record.mode, blob) if blob else ABSENT)  # fmt: skip
            self._write_as(author.id, {path: states[1] for path, states in changed.items()})
            return changed

    def put_back(self, author: Author, files: dict[str, tuple[FileState, FileState]]) -> None:
        """Bring lines back that `take_own_out` has taken, into the files as they are now."""
        with self._open_ledger(author):
            self._observe(self._find_sole_author())
            known = self._repository.list_known(files.keys())
            written: dict[str, FileState] = {}
            for path, (with_lines, without) in files.items():
                weave = Weave.from_head(self._read(without.blob))
                weave.record_change(self._read(with_lines.blob), author.id)
                content = weave.restore_others(self._read(known.get(path, ABSENT).blob), lambda _: False)
                if content is not None:
                    written[path] = FileState(with_lines.mode, self._repository.keep_blob(content))
            self._write_as(author.id, written)

    def describe_others(self, author: Author) -> list[OtherLines]:
        """Uncommitted lines of others; nothing is locked or looked at anew."""
        self._ledger.load()
        is_own = self._own_test(author)
        found: list[OtherLines] = []
        for path in self._list_paths_of_others(is_own):
            record = self._ledger.files[path]
            weave = self._load_weave(record)
            for key in sorted(key for key in weave.authors if not is_own(key)):
                lines = weave.list_lines(lambda owner, key=key: owner != key)  # type: ignore[misc]
                found.append(OtherLines(path, self._name_author(key), lines, record.at))
        return found

    def list_own_files(self, author: Author) -> list[str]:
        self._ledger.load()
        is_own = self._own_test(author)
        records = self._ledger.files.items()
        return [
            path for path, record in records if any(run[0] != "k" and is_own(run[2]) for run in record.runs)
        ]

    def list_lost(self) -> list[LostLines]:
        """The newest first."""
        try:
            lines = (self._ledger.folder / "lost.jsonl").read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
        return [LostLines(**json.loads(line)) for line in reversed(lines[-_MAX_LOST_LISTED:])]

    def restore_lost(self, lost: LostLines, author: Author) -> None:
        with self._open_ledger(author):
            self._observe(self._find_sole_author())
            before = self._repository.list_known([lost.path]).get(lost.path, ABSENT)
            self._keep_lost(lost.path, before, "git rescue restore", author.id)
            self._write_as(author.id, {lost.path: FileState(lost.mode, lost.blob)})

    def _select_own(
        self, staged: dict[str, FileState], is_own: IsOwn, author: str
    ) -> tuple[dict[str, FileState], list[LeftLines]]:
        """The entries of a commit of one's own lines where they differ from what is staged, and what is left out."""
        committed = self._repository.list_committed(staged.keys(), self._ledger.head) if staged else {}
        chosen: dict[str, FileState] = {}
        left: list[LeftLines] = []
        for path, state in staged.items():
            record = self._ledger.files[path]
            weave = self._load_weave(record)
            own = weave.select_own(self._read(state.blob), is_own, author)
            entry = self._make_entry(own.content, state, committed.get(path, ABSENT))
            expected = Weave(own.entries).runs
            self._ledger.files[path] = record._replace(expected_head=entry.blob, expected_runs=expected)
            left += self._list_left(path, own)
            if entry != state:
                chosen[path] = entry
        return chosen, left

    def _make_entry(self, content: bytes | None, staged: FileState, committed: FileState) -> FileState:
        if content is None:
            return ABSENT
        if staged.blob and content == self._read(staged.blob):
            return staged
        if committed.blob and content == self._read(committed.blob):
            return committed
        return FileState(staged.mode or committed.mode, self._repository.write_blob(content))

    def _list_left(self, path: str, own: OwnVersion) -> list[LeftLines]:
        authors = dict.fromkeys([*own.left_added, *own.left_deleted])
        return [
            LeftLines(
                path, self._name_author(key).name, own.left_added.get(key, 0), own.left_deleted.get(key, 0)
            )
            for key in authors
        ]

    def _find_mended(
        self, chosen: dict[str, FileState], staged: dict[str, FileState], is_own: IsOwn, author: str
    ) -> dict[str, tuple[str, str]]:
        """The index after the commit: what others had staged before the author's command stays staged."""
        runs = [run for run in self._ledger.running.values() if run.author == author]
        before = runs[-1].staged if runs else {}
        mended: dict[str, tuple[str, str]] = {}
        for path, entry in chosen.items():
            mended[path] = tuple(entry)  # type: ignore[assignment]
            if path in before:
                weave = self._load_weave(self._ledger.files[path])
                base = (self._read(before[path][1]),)
                content = weave.select_own(self._read(staged[path].blob), is_own, author, base).content
                mended[path] = tuple(self._make_entry(content, staged[path], entry))  # type: ignore[assignment]
        return mended

    def _settle_commit(self, author: Author, is_own: IsOwn) -> CommitPlan:
        ledger, head = self._ledger, self._repository.read_head()
        if not head or head == ledger.head or self._repository.is_busy:
            return CommitPlan()
        plan = CommitPlan()
        if self._repository.read_tree_of(head) not in ledger.checked_trees and self._was_committed(head):
            changes = self._repository.list_commit_changes(head, ledger.head)
            others = set(self._list_paths_of_others(is_own))
            wanted = {path: state for path, state in changes.items() if path in others}
            chosen, left = self._select_own(wanted, is_own, author.id)
            if chosen:
                ledger.mended = self._find_mended(chosen, wanted, is_own, author.id)
                plan = CommitPlan(left, self._repository.replace_head(head, chosen) == ledger.head)
        self._repository.stage({path: FileState(*state) for path, state in ledger.mended.items()})
        ledger.mended = {}
        return plan

    def _was_committed(self, head: str) -> bool:
        """Whether the last move of HEAD was a commit, and not a pull, a reset or a switch."""
        moves = read_head_log(self.root)
        return (
            bool(moves) and moves[-1].after == head and moves[-1].action.startswith(("commit:", "commit ("))
        )

    def _narrow_index(self, run: RunningCommand, is_own: IsOwn, author: str) -> list[LeftLines]:
        """Take out of the index what the command has staged of others."""
        paths = self._list_paths_of_others(is_own)
        if not paths or self._repository.is_busy:
            return []
        now = self._repository.list_states(paths)
        committed = self._repository.list_committed(paths, self._ledger.head)
        narrowed: dict[str, FileState] = {}
        left: list[LeftLines] = []
        for path in paths:
            staged, head = now.get(path, ABSENT), committed.get(path, ABSENT)
            before = FileState(*run.staged[path]) if path in run.staged else head
            if staged in (before, head):
                continue
            weave = self._load_weave(self._ledger.files[path])
            own = weave.select_own(self._read(staged.blob), is_own, author, (self._read(before.blob),))
            entry = self._make_entry(own.content, staged, head)
            if entry != staged:
                narrowed[path] = entry
                left += self._list_left(path, own)
        self._repository.stage(narrowed)
        return left

    def _restore_destroyed(
        self,
        changes: dict[str, tuple[FileState, FileState]],
        brought_back: set[str],
        run: RunningCommand,
        is_own: IsOwn,
    ) -> dict[str, list[Author]]:
        """Put back lines of others where a file is gone, or has become a version that git had before the command."""
        restored: dict[str, list[Author]] = {}
        written: dict[str, FileState] = {}
        renamed = {before.blob for path, (before, after) in changes.items() if not after.blob} & {
            after.blob for _, after in changes.values() if after.blob
        }
        for path, (before, after) in changes.items():
            lost = self._list_losers(path, before, after, is_own)
            if not lost or before.blob in renamed or path not in brought_back:
                continue
            weave, _ = self._load_known(path, before.blob)
            content = weave.restore_others(self._read(after.blob), is_own)
            if content is not None:
                self._keep_lost(path, before, run.command, run.author)
                written[path] = FileState(before.mode, self._repository.keep_blob(content))
                restored[path] = [self._name_author(key) for key in lost]
        self._repository.write_files(written)
        for path, state in written.items():
            changes[path] = (changes[path][0], state)
        return restored

    def _list_rewritten(
        self, changes: dict[str, tuple[FileState, FileState]], run: RunningCommand, is_own: IsOwn
    ) -> dict[str, list[Author]]:
        rewritten: dict[str, list[Author]] = {}
        for path, (before, after) in changes.items():
            if lost := self._list_losers(path, before, after, is_own):
                self._keep_lost(path, before, run.command, run.author)
                rewritten[path] = [self._name_author(key) for key in lost]
        return rewritten


def _contains(command_line: str, command: str) -> bool:
    """Whether a process was started with this command, however its program quotes it."""
    plain = str.maketrans("", "", "'\"\\ \n\t")
    return bool(command) and command[:200].translate(plain) in command_line.translate(plain)
