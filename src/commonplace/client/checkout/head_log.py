"""What is checked out, and the last moves of HEAD, from git's files: hooks look at them before every command."""

import time
from pathlib import Path
from typing import NamedTuple

from commonplace.client import project


class Head(NamedTuple):
    branch: str
    commit: str


class HeadMove(NamedTuple):
    """One line of the log of HEAD."""

    before: str
    after: str
    who: str
    at: float
    action: str

    @property
    def clock_time(self) -> str:
        return time.strftime("%H:%M", time.localtime(self.at))


def read_head(root: str) -> Head:
    moves = read_head_log(root)
    return Head(project.find_branch(root), moves[-1].after if moves else "")


def read_head_log(root: str, last_bytes: int = 4_096) -> list[HeadMove]:
    """The last moves of HEAD, oldest first; empty without a log."""
    folder = Path(root) / ".git"
    try:
        if folder.is_file():
            folder = Path(root) / folder.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        with (folder / "logs" / "HEAD").open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - last_bytes))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [move for line in lines if (move := _parse_move(line))]


def _parse_move(line: str) -> HeadMove | None:
    """`OLD NEW Name <mail> SECONDS ZONE<tab>action`; the first line of what was read may be cut."""
    who, tab, action = line.partition("\t")
    words = who.split(" ")
    if not tab or len(words) < 5 or len(words[0]) < 40 or not words[-2].isdecimal():  # noqa: PLR2004 - as above
        return None
    name = " ".join(words[2:-2]).partition(" <")[0]
    return HeadMove(words[0], words[1], name, float(words[-2]), action)
