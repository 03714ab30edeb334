"""The line weave against random agents: the file is never changed by knowing it, and each commit has own lines only."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.client.checkout.weave import ADDED, KEPT, Weave, diff_tokens, join_tokens, split_tokens

pytestmark = pytest.mark.hypothesis
AGENTS = ("ann", "ben", "cid", "dee")
EDITS = st.tuples(
    st.sampled_from(AGENTS),
    st.sampled_from(("insert", "replace", "delete", "move", "commit", "partial", "head", "reset")),
    st.integers(0, 40),
    st.integers(1, 3),
)


def own(author: str) -> Callable[[str], bool]:
    return lambda owner: owner == author


class Rounds:
    """A file, its weave, and beside it by whom each line was written: new lines carry their author's name."""

    def __init__(self, lines: int) -> None:
        self.weave = Weave.from_head(b"".join(b"line %d\n" % number for number in range(lines)))
        self.heads = [self.weave.head]
        self.counter = 0

    def play(self, author: str, act: str, place: int, length: int) -> None:
        before = self.weave.work
        assert before is not None
        lines = before.split(b"\n")
        at = min(place, len(lines) - 1)
        new = [b"%s %d" % (author.encode(), self.counter + number) for number in range(length)]
        self.counter += length
        if act in ("insert", "replace", "delete", "move"):
            taken = lines[at : at + length]
            if act == "move":
                lines[at : at + length] = []
                lines[:0] = taken
            else:
                end = at if act == "insert" else at + length
                lines[at:end] = [] if act == "delete" else new
            self.weave.record_change(b"\n".join(lines), author)
            assert self.weave.work == b"\n".join(lines)
        elif act in ("commit", "partial"):
            self.commit(author, before if act == "commit" else self.stage_half(before, at))
        else:
            self.weave.follow_head(self.heads[0] if act == "reset" else self.heads[-1])
            assert self.weave.work == before

    def stage_half(self, work: bytes, at: int) -> bytes:
        """As `git add -p` would: only some of the changed places."""
        old, new = split_tokens(self.weave.head), split_tokens(work)
        staged, moved = list(old), 0
        for number, change in enumerate(diff_tokens(old, new)):
            if (number + at) % 2:
                staged[change.start + moved : change.end + moved] = new[change.first : change.last]
                moved += (change.last - change.first) - (change.end - change.start)
        return join_tokens(staged) or b""

    def commit(self, author: str, staged: bytes) -> None:
        head, work = self.weave.head or b"", self.weave.work
        others = {text for kind, text, by in self.weave.entries if kind == ADDED and by not in ("", author)}
        chosen = self.weave.select_own(staged, own(author), author)
        committed = set((chosen.content or b"").split(b"\n")) - set(head.split(b"\n"))
        assert not {line for line in committed & others if line.strip()}, "another's line"
        after = Weave(chosen.entries)
        assert (after.head, after.work) == (chosen.content, work)
        if staged == work:
            assert not [entry for entry in after.entries if entry[0] != KEPT and entry[2] == author], (
                "own line left"
            )
        self.weave = Weave.from_runs(after.head, after.work, after.runs)
        assert self.weave.entries == after.entries
        self.heads.append(after.head)


@given(st.integers(1, 30), st.lists(EDITS, min_size=1, max_size=40))
@settings(deadline=None, max_examples=300)
def test_random_agents_commit_their_own_lines_only(lines, edits):
    rounds = Rounds(lines)
    for edit in edits:
        rounds.play(*edit)
    for author in AGENTS:
        rounds.commit(author, rounds.weave.work or b"")
    rest = {by for kind, _, by in rounds.weave.entries if kind != KEPT}
    assert rest <= {""}, "the union of commits and working tree is the sum of edits"


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_come_back_as_they_were(head, work, staged):
    weave = Weave.from_head(head)
    weave.record_change(work, "ann")
    assert (weave.head, weave.work) == (head, work)
    assert weave.select_own(staged, own("ann"), "ann").content == staged
    assert weave.select_own(work, own("ben"), "ben").content in (head, None)
    assert weave.restore_others(head, own("ben")) == work


@pytest.mark.parametrize(
    ("first", "second", "committed"),
    [
        (b"1\nA2\n3\n4\n", b"1\nA2\nB3\n4\n", b"1\n2\nB3\n4\n"),  # adjacent lines
        (b"1\n2\na\n3\n4\n", b"1\n2\na\nb\n3\n4\n", b"1\n2\nb\n3\n4\n"),  # at the same place
        (b"1\nA2\n3\n4\n", b"1\nB2\n3\n4\n", b"1\nB2\n3\n4\n"),  # who rewrites a line owns it
        (b"1\n3\n4\n", b"1\n3\n4\n5\n", b"1\n2\n3\n4\n5\n"),  # another's deletion stays uncommitted
        (b"1\r\nA2\r\n3\r\n4", b"1\r\nA2\r\n3\r\nB4", b"1\r\n2\r\n3\r\nB4"),
    ],
)
def test_ben_commits_after_ann_and_ben_edited(first, second, committed):
    head = b"1\r\n2\r\n3\r\n4" if b"\r" in first else b"1\n2\n3\n4\n"
    weave = Weave.from_head(head)
    weave.record_change(first, "ann")
    weave.record_change(second, "ben")
    assert weave.select_own(second, own("ben"), "ben").content == committed
