"""Keeps the journal of a session: adds one event after the other, from a transcript or from hooks, in any program.

What it holds is bounded, so that a transcript of any length is read in little memory. No model is asked: an entry is what
the program itself wrote.
"""

import re
from collections.abc import Sequence
from typing import TypeVar

from commonplace.journal.error_messages import ErrorMessage, find_errors
from commonplace.journal.event import PlanStep, ToolCall, ToolResult
from commonplace.journal.model import (
    CheckRun,
    Denial,
    Journal,
    LoggedCommand,
    LoggedCommit,
    LoggedError,
    OpenFailure,
    PendingCall,
    PlanItem,
    Prompt,
    Question,
    TouchedFile,
    TurnWords,
)
from commonplace.journal.shell_command import ShellCommand, is_repeated_by
from commonplace.journal.test_summary import find_summary

_MAX_ENTRIES = 200
_MAX_PENDING_CALLS = 128
_MAX_OPEN_FAILURES = 24
_MAX_STEPS = 6
_MAX_PROMPTS = 40
_MAX_WORDS = 30
_MAX_CHECKS = 20
_MAX_SAID = 6
_MAX_OTHERS = 20
_MAX_PLAN_ITEMS = 40
_PROMPT_CHARACTERS = 4_000
_CORRECTION_CHARACTERS = 1_000
_WORDS_CHARACTERS = 2_000
_TAIL_CHARACTERS = 400
_TEXT_CHARACTERS = 300
_LINE_CHARACTERS = 4_000
_PATH_CHARACTERS = 400
_HEAD_CHARACTERS = 4_000
_MAX_COMMITS_PER_RESULT = 50

_COMMIT_LINE = re.compile(
    r"^\[([^\s\]]{1,200})(?: \([a-z-]{1,20}\))? ([0-9a-f]{7,40})\] (.{1,300})", re.MULTILINE
)
_NAMED_COMMIT = re.compile(
    r"^(?:\* |commit )?([0-9a-f]{7,40})\b(?: \([^)\n]{1,200}\))? ?(.{0,300})$", re.MULTILINE
)
_PRINTED_STATUS = re.compile(
    r"(?im)^\W{0,6}(?:exit(?:ed)?(?:[ _-]?(?:code|status))?|status|rc|ret|EXIT\w*)\s*[:=]?\s*(\d{1,3})\W{0,6}$"
)
_OBVIOUS_ERROR = re.compile(
    r"Traceback \(most recent call last\)|^error(?:\[E\d{4}\]|:)|^\S+:\d+:\d+: (?:fatal )?error:|^fatal: |^FAILED |^--- FAIL|^FAIL\b"
    r"|panicked at |^npm (?:ERR!|error) |^\S*error TS\d+:|: error TS\d+:|command not found|[Cc]ommand failed with exit code [1-9]|ERROR task failed|^make: \*\*\*|^(?:bash|zsh|sh): .*(?:not found|No such file)",
    re.MULTILINE,
)
_PROGRAM_CONTEXT = re.compile(r"\A\s*(?:<([a-z]+[_-][a-z_-]{1,60})\b[^>]{0,200}>.*?</\1>\s*)+", re.DOTALL)
"""What a program or its host puts before the words of a person."""
_NO_OUTPUT = re.compile(r"\A\s*\((?:no output|Bash completed with no output|empty)\)\s*\Z")
_DIAGNOSTIC = re.compile(r"(?m)^(?:vet: |\./)?[\w./-]+\.[a-z]{1,4}:\d+:\d+: |: too many errors$")
_SHELL_FAULTS = ("zsh:", "bash:", "sh:")
_TASK_CREATED = re.compile(r"Task #(\d{1,6}) created")
_STATUS_BLOCK = re.compile(
    r"\A(?:Command: [^\n]*\n)?(?:Chunk ID: [^\n]*\n|Wall time:? [^\n]*\n|Script completed\n|Process [^\n]*\n|Original token count: [^\n]*\n|Total output lines: [^\n]*\n)+(?:Output:\n?)?|\AExit code \d+\n|\n*Command exited with code \d+\s*\Z"
)
_REVERTS = re.compile(
    r"^git\b.*\b(?:checkout\s+(?:\S+\s+)?--\s|restore\s|revert\s|reset\s+--hard)|^git checkout \S*[./]\S+"
)
_PUSH = re.compile(r"^git\b.*\bpush\b")

Entry = TypeVar("Entry")


class JournalRecorder:
    """Adds events to a journal. The journal is all that it keeps from one batch to the next."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def add_prompt(self, text: str, line: int, at: int | None) -> None:
        """A person's words. Those that a program repeats are added once."""
        journal, words = self.journal, _PROGRAM_CONTEXT.sub("", text).strip()
        self._see(at)
        length = _CORRECTION_CHARACTERS if journal.prompts else _PROMPT_CHARACTERS
        if not words or any(prompt.text == words[:length] for prompt in journal.prompts[-2:]):
            return
        journal.prompts.append(Prompt(words[:length], at, line, journal.step))
        if len(journal.prompts) > _MAX_PROMPTS:
            del journal.prompts[1]

    def add_words(self, text: str, line: int, at: int | None) -> None:
        """Words of the agent; those that end a turn are kept."""
        journal, words = self.journal, text.strip()
        self._see(at)
        if not words:
            return
        spoken = TurnWords(words[-_WORDS_CHARACTERS:], at, line, journal.step)
        started = journal.prompts[-1].step if journal.prompts else 0
        if journal.words and journal.words[-1].step > started and not journal.words[-1].proposal:
            journal.said = [*journal.said, journal.words[-1]][-_MAX_SAID:]
            journal.words[-1] = spoken
        else:
            journal.words = _keep_ends(journal.words, spoken, _MAX_WORDS)

    def add_compaction(self, at: int | None) -> None:
        self._see(at)
        self.journal.compactions += 1

    def add_call(self, call: ToolCall, at: int | None) -> None:
        journal = self.journal
        self._see(at)
        continued = journal.running.get(call.continues) if call.continues else None
        pending = continued or PendingCall(
            call.tool,
            call.command[:_LINE_CHARACTERS].strip(),
            call.text,
            [path[:_PATH_CHARACTERS] for path in call.paths],
            call.edits,
            call.folder,
            call.purpose,
            call.detail,
        )
        if call.purpose == "plan":
            journal.plan = [PlanItem(step.text, step.status) for step in call.plan]
        elif call.purpose == "step":
            self._change_step(call.plan[0])
            pending.detail = call.plan[0].text
        elif call.purpose == "proposal":
            proposal = TurnWords(call.detail, at, 0, journal.step, proposal=True)
            journal.words = _keep_ends(journal.words, proposal, _MAX_WORDS)
        elif call.purpose == "question" and call.detail:
            journal.questions = [*journal.questions, Question(call.detail[:1000], "", at)][-_MAX_OTHERS:]
        journal.pending[call.id] = pending
        if len(journal.pending) > _MAX_PENDING_CALLS:
            del journal.pending[next(iter(journal.pending))]

    def is_command(self, call_id: str) -> bool:
        """Does this call, whose result has not come yet, run a command?"""
        return call_id in self.journal.pending and bool(self.journal.pending[call_id].command)

    def add_result(self, result: ToolResult, line: int, at: int | None) -> tuple[str, list[ErrorMessage]]:
        """The tool whose call this ends, and its errors. A command that still runs has neither failed nor succeeded."""
        journal = self.journal
        self._see(at)
        pending = journal.pending.pop(result.id, None)
        if pending is None:
            return "", []
        if result.running and pending.command:
            self._keep_running(result, pending, line, at)
            return pending.tool, []
        journal.running = {handle: call for handle, call in journal.running.items() if call != pending}
        journal.pending = {
            each: call for each, call in journal.pending.items() if call != pending or not call.has_started
        }
        if result.denied:
            denial = Denial(
                pending.tool, pending.description[:_TEXT_CHARACTERS], result.output[:_TEXT_CHARACTERS], at
            )
            journal.denials = [*journal.denials, denial][-_MAX_OTHERS:]
            return pending.tool, []
        if pending.command:
            return pending.tool, self._add_command_result(pending, result, line, at)
        return pending.tool, self._add_tool_result(pending, result, line, at)

    def _keep_running(self, result: ToolResult, pending: PendingCall, line: int, at: int | None) -> None:
        """Its end is told by its own call, or by one that looks after it."""
        running = self.journal.running
        if not pending.has_started:
            command = ShellCommand(pending.command, pending.folder, self.journal.cwd)
            self._count_run(command, "", None, False, line, at)
            pending.has_started = True
        running[result.running] = self.journal.pending[result.id] = pending
        while len(running) > _MAX_OTHERS:
            del running[next(iter(running))]

    def _add_tool_result(
        self, pending: PendingCall, result: ToolResult, line: int, at: int | None
    ) -> list[ErrorMessage]:
        journal, key = self.journal, f"{pending.tool} {pending.paths[0] if pending.paths else pending.text}"
        if pending.purpose == "question" and journal.questions:
            journal.questions[-1].answer = result.output.strip()[:1000]
        created = _TASK_CREATED.search(result.output[:300]) if pending.purpose == "step" else None
        added = next(
            (item for item in journal.plan if created and item.text == pending.detail and not item.id), None
        )
        if created and added:
            added.id = created[1]
        errors = find_errors(result.output, failed=True) if result.failed else []
        if result.failed:
            self._record_failure(pending, errors, key, line, at)
        else:
            self._record_success(pending, [key], line, at, "")
        return errors

    def add_end(self, reason: str, at: int | None) -> None:
        self._see(at)
        self.journal.end_reason = reason or "ended"

    def _see(self, at: int | None) -> None:
        journal = self.journal
        journal.step += 1
        if journal.end_reason:
            journal.end_reason = ""
        if at is not None:
            journal.started_at = at if journal.started_at is None else min(at, journal.started_at)
            journal.ended_at = at if journal.ended_at is None else max(at, journal.ended_at)

    def _change_step(self, step: PlanStep) -> None:
        journal = self.journal
        if not step.id:
            journal.plan = [*journal.plan, PlanItem(step.text, step.status)][-_MAX_PLAN_ITEMS:]
            return
        item = next((item for item in journal.plan if item.id == step.id), None)
        if item is None:
            item = next((item for item in journal.plan if not item.id), None)
        if item is not None:
            item.id, item.status, item.text = step.id, step.status, step.text or item.text

    def _add_command_result(
        self, pending: PendingCall, result: ToolResult, line: int, at: int | None
    ) -> list[ErrorMessage]:
        journal = self.journal
        command = ShellCommand(pending.command, pending.folder, journal.cwd)
        output = _NO_OUTPUT.sub("", _STATUS_BLOCK.sub("", result.output))
        summary = find_summary(output) if command.runs_here else None
        failed, code = _judge_run(command, result, output, bool(summary and summary.failed))
        self._count_run(command, output, code, failed, line, at, is_known=pending.has_started)
        errors = find_errors(output, failed=not command.is_search) if failed else []
        if command.runs_here and (command.is_check or summary):
            counts = (summary.passed, summary.failed) if summary else (0, 0)
            words = summary.line if summary else errors[0].text if errors else ""
            run = CheckRun(command.shown, not failed, *counts, words, at, line, journal.step)
            journal.checks = [*journal.checks, run][-_MAX_CHECKS:]
        if failed:
            self._record_failure(pending, errors, (command.attempt_keys or [""])[-1], line, at)
        else:
            self._record_success(pending, command.attempt_keys, line, at, command.shown)
            self._record_git(command, output, line, at)
        return errors

    def _count_run(
        self,
        shell: ShellCommand,
        output: str,
        code: int | None,
        failed: bool,
        line: int,
        at: int | None,
        *,
        is_known: bool = False,
    ) -> None:
        journal = self.journal
        key = f"{shell.place}\n{shell.shown}" if shell.place else shell.shown
        logged = journal.commands.setdefault(key, LoggedCommand(shell.shown, folder=shell.place))
        logged.runs, logged.failures = logged.runs + (not is_known), logged.failures + failed
        logged.exit_code, logged.failed, logged.line, logged.at, logged.step = (
            code,
            failed,
            line,
            at,
            journal.step,
        )
        logged.is_check, logged.reads_only, logged.offered = (
            shell.is_check,
            shell.is_read_only,
            shell.is_offered,
        )
        logged.tail = output.strip()[-_TAIL_CHARACTERS:]
        if len(journal.commands) > _MAX_ENTRIES:
            others = ((name, other) for name, other in journal.commands.items() if other is not logged)
            del journal.commands[
                min(
                    others,
                    key=lambda pair: (not pair[1].reads_only, pair[1].failures, pair[1].runs, pair[1].line),
                )[0]
            ]

    def _record_git(self, command: ShellCommand, output: str, line: int, at: int | None) -> None:
        journal = self.journal
        if "git" not in command.line or command.is_elsewhere:
            return
        printed = _COMMIT_LINE.findall(output[-_HEAD_CHARACTERS:])[:_MAX_COMMITS_PER_RESULT]
        if printed and command.commit_messages:
            made = [
                LoggedCommit(commit, branch, words.strip(), line, at, journal.step)
                for branch, commit, words in printed
            ]
        else:
            made = [
                LoggedCommit(_find_hash(output, subject), "", subject, line, at, journal.step)
                for subject in command.commit_messages
            ]
        if made and journal.commits and "--amend" in command.line:
            made[0].message = made[0].message or journal.commits[-1].message
            journal.commits = journal.commits[:-1]
        journal.commits = _keep_ends_of(journal.commits, made, _MAX_ENTRIES)
        if any(_PUSH.match(part.bare) for part in command.parts):
            journal.pushed_at, journal.pushed_step = at, journal.step
        for part in command.parts:
            if _REVERTS.match(part.bare):
                revert = TurnWords(part.text[:_TEXT_CHARACTERS], at, line, journal.step)
                journal.reverts = [*journal.reverts, revert][-_MAX_OTHERS:]

    def _touch_file(self, path: str, line: int, at: int | None, *, edits: bool) -> None:
        files = self.journal.files
        file = files.setdefault(path, TouchedFile(path))
        file.edits, file.reads, file.line = file.edits + edits, file.reads + (not edits), line
        if edits or not file.edits:
            file.at, file.step = at, self.journal.step
        if len(files) > _MAX_ENTRIES:
            others = (other for other in files.values() if other is not file)
            del files[min(others, key=lambda other: (other.edits, other.reads, other.line)).path]

    def _record_failure(
        self,
        pending: PendingCall,
        errors: Sequence[ErrorMessage],
        attempt_key: str,
        line: int,
        at: int | None,
    ) -> None:
        journal = self.journal
        for error in errors:
            logged = journal.errors.get(error.fingerprint)
            if logged is None:
                journal.errors[error.fingerprint] = LoggedError(
                    error.fingerprint,
                    error.text,
                    line,
                    at,
                    pending.description[:_TEXT_CHARACTERS],
                    of_command=bool(pending.command),
                    step=journal.step,
                )
            else:
                logged.times += 1
                logged.fixed_line, logged.fixed_by, logged.step = 0, "", journal.step
            journal.changed_errors[error.fingerprint] = True
        self._drop_least_errors()
        fingerprints = [error.fingerprint for error in errors]
        earlier = next(
            (failure for failure in journal.open_failures if failure.attempt_key == attempt_key), None
        )
        if earlier is not None:
            gone = [fingerprint for fingerprint in earlier.fingerprints if fingerprint not in fingerprints]
            self._mark_fixed(earlier, gone, line, ShellCommand(pending.command).shown)
            earlier.fingerprints = list(dict.fromkeys([*fingerprints, *earlier.fingerprints]))[:_MAX_STEPS]
        elif errors:
            failure = OpenFailure(attempt_key, fingerprints, [], pending.command[:_TEXT_CHARACTERS])
            journal.open_failures = [*journal.open_failures, failure][-_MAX_OPEN_FAILURES:]
        if not pending.edits:
            self._add_step(pending, except_keys=[attempt_key])

    def _record_success(
        self, pending: PendingCall, keys: Sequence[str], line: int, at: int | None, shown: str
    ) -> None:
        for path in pending.paths:
            self._touch_file(path, line, at, edits=pending.edits)
        for failure in [*self.journal.open_failures]:
            if any(is_repeated_by(failure.attempt_key, key) for key in keys):
                if (
                    len(keys) > 1 and shown not in failure.steps
                ):  # `pip install x && python app.py` is fix and attempt
                    failure.steps = [*failure.steps, shown.split("\n", 1)[0]][-_MAX_STEPS:]
                self._mark_fixed(failure, failure.fingerprints, line, shown)
                self.journal.open_failures.remove(failure)
        self._add_step(pending, except_keys=keys[-1:])

    def _mark_fixed(self, failure: OpenFailure, fingerprints: list[str], line: int, shown: str) -> None:
        """A command no longer shows these errors, so the steps since the failure have fixed them."""
        for fingerprint in fingerprints:
            error = self.journal.errors.get(fingerprint)
            is_other = bool(shown) and bool(failure.command) and shown not in failure.command
            if error is not None and (failure.steps or is_other) and not error.fixed_line:
                error.fixed_line, error.fixed_by = line, shown[:_TEXT_CHARACTERS]
                error.followed_by = list(failure.steps) or [error.fixed_by]
                self.journal.changed_errors[fingerprint] = True

    def _add_step(self, pending: PendingCall, except_keys: Sequence[str]) -> None:
        """Add the call as a step to every open failure. Read-only commands are not steps: they fix nothing."""
        if pending.edits:
            step = f"edit {', '.join(pending.paths)}"[:_TEXT_CHARACTERS]
        elif pending.command and not ShellCommand(pending.command).is_read_only:
            step = pending.command.split("\n", 1)[0][:_TEXT_CHARACTERS]
        else:
            return
        for failure in self.journal.open_failures:
            if failure.attempt_key not in except_keys and step not in failure.steps:
                failure.steps = [*failure.steps, step][-_MAX_STEPS:]

    def _drop_least_errors(self) -> None:
        errors = self.journal.errors
        while len(errors) > _MAX_ENTRIES:
            least = min(errors.values(), key=lambda error: (bool(error.fixed_line), error.times, error.line))
            del errors[least.fingerprint]
            self.journal.changed_errors[least.fingerprint] = False


def _keep_ends(entries: list[Entry], entry: Entry, most: int) -> list[Entry]:
    """The first entry and the latest ones."""
    return _keep_ends_of(entries, [entry], most)


def _keep_ends_of(entries: list[Entry], added: Sequence[Entry], most: int) -> list[Entry]:
    grown = [*entries, *added]
    return grown if len(grown) <= most else [grown[0], *grown[1 - most :]]


def _judge_run(
    command: ShellCommand, result: ToolResult, output: str, summary_fails: bool
) -> tuple[bool, int | None]:
    """Whether it failed, and its exit code as far as it is known. Where a filter hid that, the output tells."""
    code = result.exit_code
    if code == 1 and command.is_search and not output.startswith(_SHELL_FAULTS):
        return False, code
    if code or result.failed or not command.hides_exit_code:
        return result.failed or bool(code), code
    if printed := _PRINTED_STATUS.findall(output[-_TAIL_CHARACTERS:]):
        return printed[-1] != "0", int(printed[-1])
    end = output[-_HEAD_CHARACTERS:]
    looks_wrong = not command.is_read_only and _OBVIOUS_ERROR.search(end) is not None
    looks_wrong |= command.is_check and _DIAGNOSTIC.search(end) is not None
    return summary_fails or looks_wrong, None if summary_fails or looks_wrong else code


def _find_hash(output: str, subject: str) -> str:
    """The commit that `git log` or `git rev-parse` printed after a silent `git commit`."""
    for commit, words in _NAMED_COMMIT.findall(output[-_HEAD_CHARACTERS:]):
        if not words or (subject and words.strip().startswith(subject[:60])):
            return str(commit)
    return ""
