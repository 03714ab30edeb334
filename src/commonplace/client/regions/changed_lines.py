"""Compares two texts as git's merges do, and finds what an edit changes of a version that others know too."""

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from commonplace.client.git.git_program import GitFailed, ask_git
from commonplace.file_region import LineSpan, join_spans

# What `git merge` compares with: histogram, without moving a block to where it looks better.
DIFF_OPTIONS = (
    "--diff-algorithm=histogram", "--no-indent-heuristic", "--no-color", "--no-ext-diff",
    "--no-textconv", "--no-renames", "--text", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
CONTEXT = "--unified=1"
"""Without context git leaves out the end that both have in common, and then finds other differences than a merge."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class Hunk(NamedTuple):
    """Lines of the base between two boundaries, and what is there instead."""

    start: int
    end: int
    lines: tuple[str, ...]


def find_changed_spans(base: str, before: str, after: str) -> tuple[LineSpan, ...]:
    """What an edit from `before` to `after` changes of the base: every difference that it makes, moves or undoes.

    Differences that others made before are left out, as long as the edit leaves them as they are.
    """
    had, has = list_hunks(base, before), list_hunks(base, after)
    is_append = is_pure_insertion(before, after)
    return join_spans(
        LineSpan(hunk.start, hunk.end, is_append and hunk.start == hunk.end) for hunk in {*had} ^ {*has}
    )


def list_hunks(base: str, text: str) -> list[Hunk]:
    if base == text:
        return []
    with tempfile.TemporaryDirectory(prefix="commonplace-") as folder:
        for name, content in (("base", base), ("text", text)):
            Path(folder, name).write_bytes(content.encode("utf-8", "surrogateescape"))
        code, output = ask_git(
            "-c", "core.autocrlf=false", "diff", "--no-index", CONTEXT, *DIFF_OPTIONS, "--", "base", "text", folder=folder
        )  # fmt: skip
    if code > 1:
        raise GitFailed("git diff failed.")
    return list(parse_hunks(output.split("\n")))


def parse_hunks(lines: Iterable[str]) -> Iterator[Hunk]:
    """The changes of one file in the output of git diff, each run of changed lines by itself."""
    at = start = -1
    added: list[str] = []
    for line in lines:
        if match := _HUNK.match(line):
            if start >= 0:
                yield Hunk(start, at, tuple(added))
            # Without lines of the base, git names the line that the new ones follow.
            at, start, added = int(match[1]) - (match[2] != "0"), -1, []
        elif at >= 0 and line.startswith(("+", "-")):
            start = at if start < 0 else start
            added += [line] if line.startswith("+") else []
            at += line.startswith("-")
        elif start >= 0 and line.startswith("\\"):
            added.append(line)
        elif at >= 0 and line.startswith(" "):
            if start >= 0:
                yield Hunk(start, at, tuple(added))
            at, start, added = at + 1, -1, []
    if start >= 0:
        yield Hunk(start, at, tuple(added))


def is_pure_insertion(before: str, after: str) -> bool:
    """Whether all lines of `before` are still there, with new ones at one place."""
    old, new = before.split("\n"), after.split("\n")
    if len(new) <= len(old):
        return False
    same = 0
    while same < len(old) and old[same] == new[same]:
        same += 1
    return old[same:] == new[len(new) - (len(old) - same) :]
