"""Some 700 command lines that agents can run beside a neighbour, in every spelling, with real git and real hooks.

After each line everything of the neighbour's is where it was, or was rewritten on purpose and is kept; nothing of it is in
a commit; few lines are refused for it.
The short form replays one in twenty.
"""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hooked import Agent, git

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
    """Ann has a changed, a staged and a new file; Ben, beside her, runs the lines."""

    ann: Agent
    ben: Agent
    shop: Path
    folder: Path

    async def run_line(self, line: str) -> str:
        """Ben's refusal, or nothing, if the line was run."""
        home = {"HOME": str(self.folder), "GIT_CEILING_DIRECTORIES": str(self.folder), "GIT_EDITOR": "true"}
        return (await self.ben.run_shell(line, seconds=5, **home)).denial

    async def restore(self) -> None:
        """Everything as it was before the line, also what the ledger knows."""
        for name in ("shop", "home/checkouts"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(self.folder / "kept" / name, self.folder / name, symlinks=True)

    def list_lost(self) -> list[str]:
        """What of Ann's is neither where she left it nor kept and told, and what of it is in a commit."""
        texts = {"src/cart.py": CART, "src/lib.py": LIB, "notes.txt": NOTES}
        files = self.folder.glob("home/checkouts/*/lost.jsonl")
        kept = {json.loads(line)["path"] for file in files for line in file.read_text().splitlines()}
        lost = [
            name
            for name, text in texts.items()
            if name not in kept
            and not ((self.shop / name).is_file() and text in (self.shop / name).read_text())
        ]
        if lost:
            return lost
        if git(self.shop, "log", "--branches", "-S", "of ann", "--format=%H", "--not", "--remotes"):
            lost.append("in a commit")
        return lost


@pytest.fixture
async def neighbours(near, shop, tmp_path) -> Neighbours:
    make_shop(shop, tmp_path)
    ann, ben = near("claude"), near("codex")
    await ann.start()
    await ben.start()
    await ann.write("src/cart.py", CART)
    await ann.write("notes.txt", NOTES)
    await ann.write("src/lib.py", STAGED)
    await ann.run_shell("git add src/lib.py")
    await ann.write("src/lib.py", LIB)
    await ben.write("src/tax.py", TAX)
    for name in ("shop", "home/checkouts"):
        shutil.copytree(tmp_path / name, tmp_path / "kept" / name, symlinks=True)
    return Neighbours(ann, ben, shop, tmp_path)


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


MAX_REFUSED_SHARE = 0.25


async def test_no_line_takes_or_destroys_anything_of_a_neighbour(neighbours, request, tmp_path, capsys):
    lost, refused = [], []
    sections = ("refused", "kept", "ordinary")
    lines = [line for section in sections for line in choose_lines(section, request, tmp_path)]
    for line in lines:
        if denial := await neighbours.run_line(line):
            refused.append((line, denial))
        elif harm := neighbours.list_lost():
            lost.append((line, harm))
        await neighbours.restore()
    with capsys.disabled():
        sys.stdout.write(f" {len(lines)} lines: {len(refused)} refused, {len(lost)} lost ")
    assert lost == []
    assert len(refused) <= MAX_REFUSED_SHARE * len(lines), refused


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
