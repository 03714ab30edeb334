"""Some 700 command lines that agents can run beside a neighbour, in every spelling, with real git and real hooks.

A line is refused, or what it destroys is in a rescue, or it harms nobody and is let through. `hostile_lines.txt` has
the lines, by which of the three it is. The short form replays one in twenty.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hooked import Agent, git, run

CART, STAGED, LIB, NOTES = "cart of ann\n", "lib that ann staged\n", "lib of ann\n", "notes of ann\n"
TAX = "tax of ben\n"
SHORT_STEP = 20
FILES = {
    "src/lib.py": "l\n",
    "docs/readme.md": "r\n",
    ".gitignore": "build/\n.env\n",
    "Makefile": "reset:\n\tgit reset --hard\n\nsave: reset\n\techo saved\n\ntest:\n\techo ok\n",
    "justfile": "reset:\n    git reset --hard\n",
    "tools/reset.sh": "#!/bin/bash\nset -e\ngit reset --hard\n",
    "tools/reset.py": "#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(['git', 'reset', '--hard'])\n",
    "tools/ok.sh": "#!/bin/sh\necho ok\n",
    "package.json": json.dumps(
        {
            "scripts": {
                "reset": "git reset --hard",
                "wipe": "git clean -fdx && git checkout .",
                "save": "git add -A && git commit -m save",
                "presave2": "git stash",
                "save2": "echo hi",
                "test": "echo ok",
            }
        }
    ),
}
ALIASES = {
    "co": "checkout",
    "wipe": "!git reset --hard && git clean -fd",
    "save": '!f() { git add -A; git commit -m "$1"; }; f',
    "rs": "restore",
    "rr": "rs .",
}


def read_lines(section: str) -> list[str]:
    text = (Path(__file__).parent / "hostile_lines.txt").read_text()
    return text.partition(f"[{section}]\n")[2].partition("\n[")[0].splitlines()


@dataclass
class Neighbours:
    """Ann has a changed, a staged and an untracked file; Ben, beside her, runs the lines."""

    ann: Agent
    ben: Agent
    shop: Path
    folder: Path
    tips: list[str]
    """The commits of the branches."""

    async def run_line(self, line: str) -> str:
        """Ben's refusal, or nothing, if the line was run."""
        asked = await self.ben.shell(line)
        if not asked.denial:
            home = {
                "HOME": str(self.folder),
                "GIT_CEILING_DIRECTORIES": str(self.folder),
                "GIT_EDITOR": "true",
            }
            mine = {"COMMONPLACE_AGENT_SESSION": self.ben.session}
            await run(["timeout", "5", "bash", "-c", line], self.shop, self.ben.environ | mine | home)
        return asked.denial

    async def restore(self) -> None:
        """Everything as it was before the line."""
        shutil.rmtree(self.shop, ignore_errors=True)
        shutil.copytree(self.folder / "kept", self.shop, symlinks=True)
        await self.ann.edited(self.shop / "src/cart.py", self.shop / "src/lib.py", self.shop / "notes.txt")
        await self.ben.edited(self.shop / "src/tax.py")

    def list_lost(self) -> list[str]:
        """What of Ann's is neither where she left it nor in a rescue, and what of it is in a commit."""
        kept = self._list_kept()
        texts = {"src/cart.py": CART, "src/lib.py": LIB, "notes.txt": NOTES}
        lost = [
            name
            for name, text in texts.items()
            if self._hash(text) not in kept
            and not ((self.shop / name).is_file() and (self.shop / name).read_text() == text)
        ]
        staged = git(self.shop, "ls-files", "-s", "src/lib.py").split()
        if self._hash(STAGED) not in (*kept, *staged):
            lost.append("what was staged")
        new = git(self.shop, "rev-list", "--branches", "HEAD", "--not", *self.tips).split()
        trees = [git(self.shop, "ls-tree", "-r", commit) for commit in new]
        lost += [
            f"{name} in a commit"
            for name, text in (*texts.items(), ("staged", STAGED))
            if any(self._hash(text) in tree for tree in trees)
        ]
        if git(self.shop, "rev-list", *self.tips, "--not", "--all"):
            lost.append("commits")
        return lost

    def _list_kept(self) -> set[str]:
        """The files of all rescues, with what was staged, which is their second parent."""
        names = git(self.shop, "for-each-ref", "--format=%(refname)", "refs/commonplace/rescue").split()
        parents = [git(self.shop, "rev-parse", f"{name}^@").split() for name in names]
        commits = [*names, *(commit for each in parents for commit in each[1:])]
        return {
            line.split()[2]
            for commit in commits
            for line in git(self.shop, "ls-tree", "-r", commit).splitlines()
        }

    def _hash(self, text: str) -> str:
        done = subprocess.run(
            ["git", "hash-object", "--stdin"],
            cwd=self.shop,
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


@pytest.fixture
async def neighbours(near, shop, tmp_path) -> Neighbours:
    make_shop(shop, tmp_path)
    ann, ben = near("claude"), near("codex")
    await ann.start()
    await ben.start()
    await ann.write("src/cart.py", CART)
    await ann.write("notes.txt", NOTES)
    await ann.write("src/lib.py", STAGED)
    git(shop, "add", "src/lib.py")
    await ann.write("src/lib.py", LIB)
    await ben.write("src/tax.py", TAX)
    shutil.copytree(shop, tmp_path / "kept", symlinks=True)
    return Neighbours(ann, ben, shop, tmp_path, git(shop, "rev-parse", "main", "feature", "other").split())


def make_shop(shop: Path, folder: Path) -> None:
    for name, text in FILES.items():
        (shop / name).parent.mkdir(exist_ok=True)
        (shop / name).write_text(text)
        (shop / name).chmod(0o755)
    git(shop, "add", "--all")
    git(shop, "commit", "-qm", "second")
    for branch, name in (("feature", "src/cart.py"), ("other", "docs/readme.md")):
        git(shop, "checkout", "-q", "-b", branch)
        (shop / name).write_text(f"{branch}\n")
        git(shop, "commit", "-qam", branch)
        git(shop, "checkout", "-q", "main")
    (shop / "docs/more.md").write_text("m\n")
    git(shop, "add", "--all")
    git(shop, "commit", "-qm", "third")
    git(folder, "init", "-q", "--bare", "-b", "main", "remote.git")
    git(shop, "remote", "add", "origin", str(folder / "remote.git"))
    git(shop, "push", "-q", "-u", "origin", "main")
    for name, value in ALIASES.items():
        git(shop, "config", f"alias.{name}", value)
    (folder / "cart.patch").write_text(git(shop, "diff", "main", "feature", "--", "src/cart.py") + "\n")
    (folder / "feat.mbox").write_text(git(shop, "format-patch", "--stdout", "-1", "feature") + "\n")
    (folder / "wipe.sh").write_text("git reset --hard\n")
    (shop / "build").mkdir()
    (shop / "build/o.bin").write_text("built\n")
    (shop / ".env").write_text("KEY=ann\n")


def choose_lines(section: str, request: pytest.FixtureRequest, folder: Path) -> list[str]:
    lines = read_lines(section)
    chosen = lines if request.config.getoption("--long") else lines[:: min(SHORT_STEP, len(lines))]
    names = {"{shop}": str(folder / "shop"), "{tmp}": str(folder), "⏎": "\n"}
    for name, value in names.items():
        chosen = [line.replace(name, value) for line in chosen]
    return chosen


async def test_what_would_take_or_destroy_the_work_of_a_neighbour_is_refused_in_every_spelling(
    neighbours, request, tmp_path
):
    ran = []
    for line in choose_lines("refused", request, tmp_path):
        if not await neighbours.run_line(line):
            ran.append(line)
            await neighbours.restore()
    assert ran == []


async def test_what_is_not_refused_is_rescued_or_harms_nobody(neighbours, request, tmp_path):
    refused, lost = [], []
    for line in [*choose_lines("kept", request, tmp_path), *choose_lines("ordinary", request, tmp_path)]:
        if denial := await neighbours.run_line(line):
            refused.append((line, denial))
        elif harm := neighbours.list_lost():
            lost.append((line, harm))
        await neighbours.restore()
    assert (refused, lost) == ([], [])


async def test_none_of_these_lines_is_refused_to_a_lone_session(near, shop, request, tmp_path):
    make_shop(shop, tmp_path)
    alone = near("codex")
    await alone.start()
    await alone.write("src/tax.py", TAX)
    (shop / "notes.txt").write_text(NOTES)
    lines = [
        line
        for section in ("refused", "kept", "ordinary")
        for line in choose_lines(section, request, tmp_path)
    ]
    assert [line for line in lines if (await alone.shell(line)).denial] == []


IN_ANOTHER_TREE = (
    "git -C {there} reset --hard", "cd {there} && git checkout -- .", "git --work-tree={there} --git-dir={there}/.git restore .",
    "GIT_WORK_TREE={there} git reset --hard", "rm -rf {there}", "rm -rf {shop}/.git", "mv {there} {tmp}/elsewhere",
    "git worktree remove --force {there}", "git worktree remove -f -f {there}", "rm -rf {shop}/.git/worktrees", "git stash",
    "git gc --prune=now", "git reflog expire --expire=now --all", "git update-ref refs/heads/tax main~1",
    "git fetch -u . +main~1:tax", "git push --force origin tax", "cd {there}; git add -A; git commit -m all",
    "git -C {there} commit -am x", "git -C {there} switch main", "make -C {there} reset", "bash -c 'cd {there} && git clean -fd'",
    "find {there} -name '*.py' -delete", "rm -rf {tmp}",
)  # fmt: skip
IN_ONES_OWN = (
    "git reset --hard", "git checkout -q -b mine", "git add -A && git commit -qm mine", "git clean -fd", "git rebase other",
    "git switch -q main", "npm run reset", "git bisect start", "git branch -m mine yours", "git rm -f docs/more.md",
    "git read-tree -u --reset HEAD", "find . -name '*.py' -delete", "git commit --amend --no-edit",
)  # fmt: skip


async def test_a_neighbour_in_another_working_tree_loses_nothing_and_is_in_nobodys_way(near, shop, tmp_path):
    make_shop(shop, tmp_path)
    there = tmp_path / "shop-tax"
    git(shop, "worktree", "add", "-q", "-b", "tax", str(there))
    ann, ben = near("claude", cwd=there), near("codex")
    await ann.start()
    await ann.write("src/cart.py", CART)
    await ann.write("notes.txt", NOTES)
    await ben.write("src/tax.py", TAX)
    names = {"there": there, "shop": shop, "tmp": tmp_path}
    passed = [line for line in IN_ANOTHER_TREE if not (await ben.shell(line.format(**names))).denial]
    refused = [(line, denial) for line in IN_ONES_OWN if (denial := (await ben.shell(line)).denial)]
    assert (passed, refused) == ([], [])
