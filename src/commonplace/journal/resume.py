"""What the next session of a place is told of the last one: most valuable first, each with its age, within a budget.

Nothing is told of a session that finished what it was asked. Everything is a quotation of that session.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from commonplace.clock import format_age
from commonplace.journal.model import CheckRun, Journal, LoggedCommand, LoggedError
from commonplace.shortening import shorten_line, shorten_middle

MAX_RESUME_TOKENS = 1_200
_BYTES_PER_TOKEN = 4
_TASK_CHARACTERS = 900
_WORDS_CHARACTERS = 1_000
_CORRECTION_CHARACTERS = 240
_LINE_CHARACTERS = 160
_MAX_CORRECTIONS = 5
_MAX_PLAN_ITEMS = 10
_MAX_COMMANDS = 5
_MAX_FILES = 12
_MAX_ERRORS = 3
_SHORT_TASK_CHARACTERS = 40
_MARKS = {"done": "done", "in_progress": "doing", "pending": "open"}


@dataclass(frozen=True, slots=True)
class SessionOrigin:
    """Whose journal it is, as far as that is known; `earlier_task` is what the session itself was told to resume."""

    agent: str
    tool: str
    directory: str = ""
    earlier_task: str = ""


def is_finished(journal: Journal) -> bool:
    """Whether the session did what it was asked, as far as that can be seen: its last turn ended without a question, its
    plan is done, its last check passed after the last edit, and what it changed is committed."""
    if not journal.prompts:
        return True
    last_prompt = journal.prompts[-1].step
    answered = bool(journal.words) and journal.words[-1].step > last_prompt
    if not answered or journal.words[-1].proposal or journal.words[-1].text.rstrip().endswith("?"):
        return False
    if any(item.status != "done" for item in journal.plan) or (journal.checks and not journal.checks[-1].ok):
        return False
    return not _list_uncommitted(journal)


def compose_resume(
    journal: Journal, origin: SessionOrigin, now: int, max_tokens: int = MAX_RESUME_TOKENS
) -> dict[str, Any]:
    """The parts that have something to say, in the order of their value."""
    at = journal.ended_at or journal.started_at or now
    name = " ".join(part for part in (origin.agent, f"({origin.tool})" if origin.tool else "") if part)
    parts: dict[str, Any] = {
        "from": f"{name}, {_describe_end(journal)}",
        "age": format_age(at, now),
        **_describe_request(journal, origin, now),
        "tests": _describe_checks(journal, now),
        "plan": [
            f"{_MARKS[item.status]}: {shorten_line(item.text, _LINE_CHARACTERS)}"
            for item in _choose_plan(journal)
        ],
        "last_words": _describe_words(journal, now),
        "open_errors": [_describe_error(error, now) for error in list_open_errors(journal)[:_MAX_ERRORS]],
        "works": [
            _describe_command(command, now) for command in list_working_commands(journal)[:_MAX_COMMANDS]
        ],
        "own_lines": _describe_files(journal, origin.directory or journal.cwd, now),
        "avoid": _list_avoided(journal, now),
        "denied": [
            shorten_line(f"{each.text}: {each.reason}" if each.reason else each.text, _LINE_CHARACTERS)
            for each in journal.denials[-_MAX_ERRORS:]
        ],
        "commits": [
            shorten_line(f"{each.commit} {each.message}".strip(), 80)
            for each in journal.commits[-_MAX_ERRORS:]
        ],
    }
    return _fit_parts({name: value for name, value in parts.items() if value}, max_tokens * _BYTES_PER_TOKEN)


def list_working_commands(journal: Journal) -> list[LoggedCommand]:
    """The commands that worked when they were run last: checks first, then those that were run most."""
    works = [
        command
        for command in journal.commands.values()
        if command.offered
        and not command.failed
        and not command.reads_only
        and "git commit" not in command.command
    ]
    return sorted(works, key=lambda command: (not command.is_check, -command.runs, -command.step))


def list_open_errors(journal: Journal) -> list[LoggedError]:
    """Errors of commands that nothing overcame, the latest first."""
    open_errors = [error for error in journal.errors.values() if error.of_command and not error.fixed_line]
    return sorted(open_errors, key=lambda error: -error.step)


def _describe_end(journal: Journal) -> str:
    if journal.end_reason:
        return f"ended ({journal.end_reason})"
    last_prompt = journal.prompts[-1].step if journal.prompts else 0
    is_answered = bool(journal.words) and journal.words[-1].step > last_prompt
    return "not ended" if is_answered else "stopped in the middle of a turn"


def _describe_request(journal: Journal, origin: SessionOrigin, now: int) -> dict[str, Any]:
    """A short request, such as "go on", stands beside what it goes on with."""
    prompts = list(journal.prompts)
    if origin.earlier_task and len(journal.task) < _SHORT_TASK_CHARACTERS:
        task = origin.earlier_task
    else:
        task, prompts = journal.task, prompts[1:]
    corrections = [
        f"{shorten_middle(' '.join(prompt.text.split()), _CORRECTION_CHARACTERS)}{_format_since(prompt.at, now)}"
        for prompt in prompts[-_MAX_CORRECTIONS:]
    ]
    return {"task": shorten_middle(task, _TASK_CHARACTERS), "corrections": corrections}


def _describe_words(journal: Journal, now: int) -> str:
    """The words that ended the last turn; before them, what was said on the way in a turn that did not end."""
    started = journal.prompts[-1].step if journal.prompts else 0
    ended = [words for words in journal.words if not words.proposal]
    if ended and ended[-1].step > started and journal.end_reason:
        chosen = ended[-1:]
    else:
        chosen = [*(words for words in journal.said if words.step > started), *ended[-1:]]
    share = _WORDS_CHARACTERS // max(1, len(chosen[-3:]))
    return "\n".join(
        f"{shorten_middle(words.text, share)}{_format_since(words.at, now)}" for words in chosen[-3:]
    )


def _choose_plan(journal: Journal) -> Sequence[Any]:
    """What is left, and before it the last steps that were done."""
    left = [item for item in journal.plan if item.status != "done"][:_MAX_PLAN_ITEMS]
    done = [item for item in journal.plan if item.status == "done"]
    kept = done[len(done) - max(0, _MAX_PLAN_ITEMS - len(left)) :] if len(left) < _MAX_PLAN_ITEMS else []
    return [item for item in journal.plan if item in kept or item in left]


def _describe_checks(journal: Journal, now: int) -> str:
    """The last run, and the last failing one of another command."""
    if not journal.checks:
        return ""
    last = journal.checks[-1]
    states = {run.command: run for run in journal.checks}
    others = [run for run in states.values() if run.failed and run.command != last.command][-1:]
    edits = sum(file.step > last.step for file in journal.files.values() if file.edits)
    stale = f"; {edits} file{'s' * (edits > 1)} changed since" if edits else ""
    return "; ".join(_describe_check(run, now) for run in (last, *others)) + stale


def _describe_check(run: CheckRun, now: int) -> str:
    result = run.summary or ("passed" if run.ok else "failed")
    state = "" if run.summary and not run.ok and run.failed else "ok: " if run.ok else "FAILED: "
    return f"{shorten_line(run.command, _LINE_CHARACTERS)} -> {state}{shorten_line(result, _LINE_CHARACTERS)}{_format_since(run.at, now)}"


def _describe_error(error: LoggedError, now: int) -> str:
    return f"{shorten_line(error.text, _LINE_CHARACTERS)} [{shorten_line(error.command, 80)}]{_format_since(error.at, now)}"


def _describe_command(command: LoggedCommand, now: int) -> str:
    place = f" in {command.folder}" if command.folder else ""
    times = f" {command.runs - command.failures} of {command.runs} times" if command.runs > 1 else ""
    return f"{shorten_line(command.command, _LINE_CHARACTERS)}{place}{times}{_format_since(command.at, now)}"


def _list_uncommitted(journal: Journal) -> list[Any]:
    committed = journal.commits[-1].step if journal.commits else 0
    return [file for file in journal.edited_files if file.step > committed]


def _describe_files(journal: Journal, folder: str, now: int) -> list[str]:
    files = _list_uncommitted(journal)
    root = folder.rstrip("/") + "/"
    shown = [f"{file.path.removeprefix(root)}{_format_since(file.at, now)}" for file in files[:_MAX_FILES]]
    return [*shown, *([f"and {len(files) - _MAX_FILES} more"] if len(files) > _MAX_FILES else [])]


def _list_avoided(journal: Journal, now: int) -> list[str]:
    """What failed and was given up for something else, and what was taken back."""
    overcome = [
        f"{shorten_line(error.command, 80)} -> {shorten_line(error.text, 80)}; instead: {shorten_line(error.fixed_by, 80)}"
        for error in sorted(journal.errors.values(), key=lambda error: -error.step)
        if error.fixed_by and error.fixed_by not in error.command
    ]
    given_up = [
        f"{shorten_line(command.command, 100)} failed{_format_since(command.at, now)}"
        for command in sorted(journal.commands.values(), key=lambda command: -command.step)
        if command.failed and not command.reads_only and not command.is_check
    ]
    taken_back = [
        f"taken back by {shorten_line(words.text, 100)}{_format_since(words.at, now)}"
        for words in journal.reverts
    ]
    return [*overcome[:_MAX_ERRORS], *taken_back[-2:], *given_up[:2]]


def _format_since(at: int | None, now: int) -> str:
    return "" if at is None else f" ({format_age(at, now)})"


def _fit_parts(parts: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    """Drop from the least valuable part on, the entries of a list from its end, until the rest fits."""
    measure: Callable[[Any], int] = lambda value: len(msgspec.json.encode(value))  # noqa: E731
    for name in reversed(list(parts)):
        while measure(parts) > max_bytes and isinstance(parts.get(name), list):
            parts[name] = parts[name][:-1]
            if not parts[name]:
                del parts[name]
        if measure(parts) <= max_bytes:
            return parts
    for name in ("last_words", "task", "tests"):
        over = measure(parts) - max_bytes
        if over > 0 and name in parts:
            parts[name] = shorten_middle(parts[name], max(80, len(parts[name]) - over - 8))
    return parts
