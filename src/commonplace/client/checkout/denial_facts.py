"""What a denied edit is told of the file as it is now: whose uncommitted lines are in it, and what stands at the place."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from commonplace.client.checkout.acting_author import author_of
from commonplace.client.checkout.checkout import Checkout
from commonplace.client.checkout.edit_texts import list_replacements
from commonplace.client.checkout.git_program import GitFailed
from commonplace.client.checkout.shell_hooks import format_lines
from commonplace.client.companion import fault_log
from commonplace.client.companion.hook_run import HookRun
from commonplace.quoting.hidden_characters import quote_line

_MAX_FILES = 3
_LINES_AROUND = 4
_MAX_LINE_CHARACTERS = 160


def describe_files_now(hook_run: HookRun, files: Sequence[str]) -> list[str]:
    try:
        checkout = Checkout.open(hook_run.place) if hook_run.tree.main else None
        return list(_describe(checkout, hook_run, files)) if checkout else []
    except (GitFailed, OSError, ValueError) as error:
        fault_log.log_fault("a denied edit", error)
        return []


def _describe(checkout: Checkout, hook_run: HookRun, files: Sequence[str]) -> Iterator[str]:
    others = checkout.describe_others(author_of(hook_run))
    for file in files[:_MAX_FILES]:
        for each in others:
            if each.path == file:
                changed = time.strftime("%H:%M", time.localtime(each.at))
                lines = format_lines(each.lines)
                yield f"{each.author.name} has uncommitted lines in {quote_line(file)} as it is now: {lines} (last change {changed})."
    if len(files) == 1 and (old := _find_old_text(hook_run)):
        yield from _quote_place(Path(checkout.root, files[0]), old)


def _find_old_text(hook_run: HookRun) -> str:
    for file in hook_run.event.files:
        replacements = list_replacements(hook_run.event.arguments or {}, file)
        if replacements:
            return replacements[0].old
    return ""


def _quote_place(path: Path, old: str) -> Iterator[str]:
    """The file around the text that was to be replaced, or around the first of its lines that is still there."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    wanted = [line for line in old.splitlines() if line.strip()]
    at = next((number for line in wanted for number, each in enumerate(lines) if each == line), None)
    if old not in text:
        yield "The text that you want to replace is not in the file any more: it was changed since you read it."
    if at is None:
        return
    first, last = max(0, at - _LINES_AROUND), min(len(lines), at + len(wanted) + _LINES_AROUND)
    yield "The file there now:"
    for number in range(first, last):
        yield f"{number + 1}: {quote_line(lines[number][:_MAX_LINE_CHARACTERS])}"
