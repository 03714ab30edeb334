"""Region leases against what git can merge: pairs of edits by two agents, each in a working tree of its own."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from edit_pairs import Edit, EditPair, make_pair
from hooked import Agent, git, repository

from patience import PATIENCE_SECONDS

SHORT, LONG = 40, 400
MIN_CAUGHT, MIN_LET_THROUGH = 0.99, 0.85


class Figures(NamedTuple):
    conflicts: int
    caught: int
    clean: int
    let_through: int

    def __str__(self) -> str:
        return (
            f"{self.caught} of {self.conflicts} conflicts caught,"
            f" {self.let_through} of {self.clean} clean pairs let through"
        )


async def test_what_git_cannot_merge_is_denied_and_what_it_can_is_not(near, tmp_path, request, capsys):
    count = LONG if request.config.getoption("--long") else SHORT
    pairs = [make_pair(number) for number in range(count)]
    shop, tree = make_repository(tmp_path, pairs)
    ann, ben = near(cwd=shop, COMMONPLACE_HOOKS_RADAR="off"), near(cwd=tree, COMMONPLACE_HOOKS_RADAR="off")
    denied = set()
    for pair in pairs:
        assert await make_edits(ann, shop / pair.path, pair.first)
        if not await make_edits(ben, tree / pair.path, pair.second):
            denied.add(pair.path)
        (tree / pair.path).write_text(pair.second_text)
    conflicting = find_conflicts(shop, tree)
    figures = Figures(
        len(conflicting),
        len(conflicting & denied),
        count - len(conflicting),
        count - len(conflicting | denied),
    )
    with capsys.disabled():
        sys.stdout.write(f" {figures} ")
    missed, blocked = sorted(conflicting - denied), sorted(denied - conflicting)
    assert figures.conflicts >= count // 8, figures
    assert figures.caught >= MIN_CAUGHT * figures.conflicts, (str(figures), missed)
    assert figures.let_through >= MIN_LET_THROUGH * figures.clean, (str(figures), blocked)


def make_repository(folder: Path, pairs: Iterable[EditPair]) -> tuple[Path, Path]:
    """A repository with the base of every pair, and a linked working tree of it."""
    shop, tree = repository(folder / "pairs"), folder / "tree"
    for pair in pairs:
        path = shop / pair.path
        path.parent.mkdir(exist_ok=True)
        path.write_text(pair.base)
    git(shop, "add", "--all")
    git(shop, "commit", "-qm", "base")
    git(shop, "worktree", "add", "-q", "-b", "other", str(tree))
    return shop, tree


async def make_edits(agent: Agent, path: Path, edits: Iterable[Edit]) -> bool:
    """Make the edits one after the other; whether none was denied."""
    for edit in edits:
        arguments = {"file_path": str(path), "old_string": edit.old, "new_string": edit.new}
        tool = {"tool_name": "Edit", "tool_input": arguments | {"replace_all": edit.is_everywhere}}
        if (await agent.hook(agent.sends("before_edit", str(path)) | tool)).denial:
            return False
        apply_edit(path, edit)
    return True


def apply_edit(path: Path, edit: Edit) -> None:
    text = path.read_text()
    assert edit.old in text
    path.write_text(text.replace(edit.old, edit.new))


def find_conflicts(shop: Path, tree: Path) -> set[str]:
    """The files that git cannot merge when both working trees have committed everything."""
    for place in (shop, tree):
        git(place, "commit", "-qam", "edits")
    heads = [git(place, "rev-parse", "HEAD") for place in (shop, tree)]
    merged = subprocess.run(
        ["git", "merge-tree", "--write-tree", "--name-only", "--no-messages", *heads],
        cwd=shop, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
    )  # fmt: skip
    assert merged.returncode in (0, 1), merged.stderr
    return set(merged.stdout.splitlines()[1:])
