"""Stages what is changed in a file without the lines that others have leased in the same working tree."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from commonplace.client.companion.hook_run import HookRun
from commonplace.client.git.git_program import ask_git, run_git
from commonplace.client.regions.changed_lines import DIFF_OPTIONS, Hunk, parse_hunks
from commonplace.client.regions.edit_regions import tag_tree_of
from commonplace.file_region import BASE_CHARACTERS, FileRegion, LineSpan

_BASE = re.compile(r"^index ([0-9a-f]+)\.\.", re.MULTILINE)
_FIRST_HUNK = re.compile(r"^@@ ", re.MULTILINE)


class OwnLines(NamedTuple):
    staged: int
    """How many places of the file were staged."""
    holders: list[str]
    """Who has the others."""


def stage_own_lines(hook_run: HookRun, root: str, file: str) -> OwnLines:
    """Stage every change of the file but those in lines that others have leased; nothing of it may be staged yet."""
    patch = run_git("diff", "--full-index", "--unified=0", *DIFF_OPTIONS, "HEAD", "--", file, folder=root)
    base, start = _BASE.search(patch), _FIRST_HUNK.search(patch)
    if base is None or start is None:
        return OwnLines(0, [])
    body = re.split(r"(?m)^(?=@@ )", patch[start.start() :])[1:]
    hunks = list(parse_hunks(patch[start.start() :].split("\n")))
    holders = [_list_holders(hook_run, root, file, base[1][:BASE_CHARACTERS], hunk) for hunk in hunks]
    own = [(hunk, text) for hunk, text, others in zip(hunks, body, holders, strict=True) if not others]
    if own:
        given = patch[: start.start()] + "".join(_renumber_hunks(own))
        words = ("apply", "--cached", "--unidiff-zero", "--whitespace=nowarn", "-")
        run_git(*words, folder=root, given=f"{given}\n".encode("utf-8", "surrogateescape"))
    return OwnLines(len(own), sorted({name for others in holders for name in others}))


def is_staged(root: str, file: str) -> bool:
    return ask_git("diff", "--cached", "--quiet", "--", file, folder=root)[0] != 0


def _list_holders(hook_run: HookRun, root: str, file: str, base: str, hunk: Hunk) -> list[str]:
    region = FileRegion({base: (LineSpan(hunk.start, hunk.end),)}, (), tag_tree_of(root))
    reply = hook_run.call_in_session("memory_get_locks", path_pattern=file + region.text)
    return [str(lock["held_by"]) for lock in reply.get("locks", [])]


def _renumber_hunks(own: Sequence[tuple[Hunk, str]]) -> list[str]:
    """The hunks with the line numbers that they have when the others are left out."""
    moved, texts = 0, []
    for hunk, text in own:
        removed, added = hunk.end - hunk.start, len([line for line in hunk.lines if line.startswith("+")])
        old = hunk.start + 1 if removed else hunk.start
        new = hunk.start + moved + (1 if added else 0)
        rest = text.partition("\n")[2]
        texts.append(f"@@ -{old},{removed} +{new},{added} @@\n{rest}")
        moved += added - removed
    return texts
