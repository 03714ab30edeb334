"""Commands that ran: what a rule with `unless.ran` asks for.

Before a command that some rule asks for, the hook notes it. Whether it succeeded is looked up only when such a rule is
about to fire: in what the program reported after the command, else in its transcript. So other commands cost nothing.
"""

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.client.agents import AGENTS
from commonplace.client.companion.hook_state import HookState
from commonplace.rules.command_pattern import matches_command, parse_pattern
from commonplace.rules.rule import Rule
from commonplace.rules.rule_check import may_match
from commonplace.rules.shell_line import split_line

if TYPE_CHECKING:
    from commonplace.client.companion.hook_run import HookRun

_HIDES_EXIT_CODE = re.compile(r"(?<!\|)\|(?!\|)|\|\||;|\n|&\s*$|&(?![&>\d])(?<!&&)(?<!>&)")
_MAX_TRANSCRIPT_BYTES = 4_000_000
_CLOCK_SECONDS = 5
"""By how much the times of a transcript may differ from ours."""


def is_asked_for(rules: Iterable[Rule], line: str) -> bool:
    """Whether a rule asks for this command; a quick look decides for most."""
    patterns = {pattern for rule in rules for pattern in rule.ran}
    near = [pattern for pattern in patterns if may_match(parse_pattern(pattern), line)]
    return bool(near) and _matches_line(near, line)


def _matches_line(patterns: Sequence[str], line: str) -> bool:
    words = [command.words for command in split_line(line, "/") if command.words]
    return any(matches_command(parse_pattern(pattern), each) for pattern in patterns for each in words)


def note_start(hook_run: "HookRun") -> None:
    event = hook_run.event
    hook_run.state.add_command_run({"line": event.command, "at": time.time(), "transcript": event.transcript})


def note_end(hook_run: "HookRun", code: int | None) -> None:
    """What the program reported after the command."""
    if code is not None:
        hook_run.state.add_command_run(
            {"line": hook_run.event.command, "ended_at": time.time(), "code": code}
        )


def has_run(state: HookState, tool: str, patterns: Sequence[str], seconds: int) -> bool:
    """Whether such a command ran within this time and succeeded, as far as the program lets us know."""
    runs = state.list_command_runs()
    since = time.time() - seconds
    started = [run for run in runs if run.get("at", 0) > since and _counts(run["line"], patterns)]
    return any(_succeeded(run, runs, tool) for run in reversed(started))


def _counts(line: str, patterns: Sequence[str]) -> bool:
    """Whether the exit code of the line is that of the command: not behind a pipe, `;` or `||`."""
    return not _HIDES_EXIT_CODE.search(line.strip()) and _matches_line(patterns, line)


def _succeeded(run: dict[str, Any], runs: Sequence[dict[str, Any]], tool: str) -> bool:
    codes = [
        each["code"] for each in runs if each["line"] == run["line"] and each.get("ended_at", 0) >= run["at"]
    ]
    if codes:
        return bool(codes[0] == 0)
    if not _has_exit_codes(tool):
        return True  # the program tells nobody
    return bool(run["transcript"]) and _find_exit_code(run, tool) == 0


def _has_exit_codes(tool: str) -> bool:
    """Cursor and Windsurf say neither in a hook nor in a transcript that we know how a command ended."""
    return tool in AGENTS and (bool(AGENTS[tool].transcript_tool) or tool == "vscode")


def _find_exit_code(run: dict[str, Any], tool: str) -> int | None:
    """The exit code of the command in the transcript; None if it is not there, because it still runs or was refused."""
    from commonplace.transcripts.ended_calls import list_command_results  # rules rarely fire

    try:
        lines = _read_end(Path(run["transcript"]))
    except OSError:
        return None
    codes = [
        result.exit_code
        for result in list_command_results(lines, AGENTS[tool].transcript_tool)
        if result.command.strip() == run["line"].strip()
        and (result.at is None or result.at / 1e6 > run["at"] - _CLOCK_SECONDS)
    ]
    return codes[-1] if codes else None


def _read_end(path: Path) -> list[bytes]:
    with path.expanduser().open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _MAX_TRANSCRIPT_BYTES))
        return file.read().splitlines()
