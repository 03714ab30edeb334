"""What happened in a session, derived without a language model: files, commands, errors and their fixes, commits."""

import re

import msgspec

from commonplace.transcripts.error_messages import ErrorMessage, find_errors
from commonplace.transcripts.event import ToolCall, ToolResult

LEADING_COMMANDS = re.compile(
    r"^(?:\s*(?:cd|pushd|export|source|\.)\s[^&;\n]{0,300}(?:&&|;|\n)\s*|\s*[A-Z_][A-Z0-9_]*=\S{0,300}\s+)+"
)
_WRAPPERS = re.compile(
    r"^(?:(?:sudo|time|npx|uv run|poetry run|pipenv run|bundle exec|(?:\S{0,200}/)?python[\d.]{0,5} -m)\s+)+"
)
_OPTION = re.compile(r"^-")
_KEY_WORDS = 2
# Options that select some of the tests, after which a success says nothing about the others.
_SELECTS = re.compile(r"(?:^|\s)(?:-k|-m|-t|-run|--run|--grep|--lf|--last-failed)\b|::")
# Without an argument they check everything.
_CHECKERS = frozenset({"pytest", "tox", "nox", "tsc", "mypy", "ruff", "eslint", "jest", "vitest", "unittest"})
_WHOLE_CHECKS = frozenset({"make test", "make check", "npm test", "yarn test", "pnpm test", "tox", "nox"})
_SOME_TESTS = "-"
_EVERYTHING = frozenset({".", "./...", "..."})


def list_attempt_keys(command: str) -> list[str]:
    """The keys of the parts of a command, in order."""
    main = LEADING_COMMANDS.sub("", command).strip()
    return [_build_key(part) for part in main.split("&&")]


def _build_key(part: str) -> str:
    command = _WRAPPERS.sub("", LEADING_COMMANDS.sub("", part).split("|", 1)[0].strip())
    words = [word for word in command.split() if not _OPTION.match(word)][:_KEY_WORDS]
    if words:
        words[0] = words[0].rpartition("/")[2] or words[0]
    if len(words) == 1 and words[0] in _CHECKERS and _SELECTS.search(command):
        words.append(_SOME_TESTS)
    return " ".join(words)


def is_repeated_by(failed: str, succeeded: str) -> bool:
    """Does the success of one key mean that what failed under the other succeeds as well?"""
    if failed == succeeded:
        return True
    program, _, place = failed.partition(" ")
    other, _, wider = succeeded.partition(" ")
    if succeeded in _WHOLE_CHECKS and program in _CHECKERS:
        return True
    if program != other or program not in _CHECKERS:
        return False
    return not wider or wider in _EVERYTHING or place.startswith((wider.rstrip("/") + "/", wider + "::"))


_MAX_ENTRIES = 200
_MAX_PENDING_CALLS = 128
_MAX_OPEN_FAILURES = 24
_MAX_STEPS = 6
_COMMAND_CHARACTERS = 300
_PATH_CHARACTERS = 400
_MAX_COMMITS_PER_RESULT = 50
_HEAD_CHARACTERS = 400

_READ_ONLY_COMMAND = re.compile(
    r"^(?:cat|ls|head|tail|grep|rg|ag|find|fd|wc|pwd|echo|which|type|sed -n|tree|stat|file|less|env|printenv|ps|df|du|date"
    r"|git (?:status|diff|log|show|branch|blame|remote))\b"
)
_HIDES_EXIT_CODE = re.compile(r"\||;|&&\s*true\b")
_COMMIT_LINE = re.compile(
    r"^\[([^\s\]]{1,200})(?: \([a-z-]{1,20}\))? ([0-9a-f]{7,40})\] (.{1,300})", re.MULTILINE
)
_OBVIOUS_ERROR = re.compile(
    r"Traceback \(most recent call last\)|^error(?:\[E\d{4}\])?: |^FAILED |panicked at |^npm (?:ERR!|error) ",
    re.MULTILINE,
)
_STILL_RUNNING = re.compile(
    r"^(?:Process running with session ID|Command running in background|Command moved to background)",
    re.MULTILINE,
)


class TouchedFile(msgspec.Struct, array_like=True):
    path: str
    reads: int = 0
    edits: int = 0
    line: int = 0


class LoggedCommand(msgspec.Struct, array_like=True):
    command: str
    runs: int = 0
    failures: int = 0
    exit_code: int | None = None
    line: int = 0


class LoggedError(msgspec.Struct, array_like=True):
    """An error; `followed_by` lists the steps between it and the run in which it no longer occurred."""

    fingerprint: str
    text: str
    line: int
    at: int | None = None
    command: str = ""
    times: int = 1
    fixed_line: int = 0
    followed_by: list[str] = msgspec.field(default_factory=list)


class LoggedCommit(msgspec.Struct, array_like=True):
    commit: str
    branch: str
    message: str
    line: int
    at: int | None = None


class PendingCall(msgspec.Struct, array_like=True):
    tool: str
    attempt_key: str
    command: str
    text: str
    paths: list[str]
    edits: bool

    @property
    def description(self) -> str:
        return self.command or f"{self.tool} {self.text}".strip()


class OpenFailure(msgspec.Struct, array_like=True):
    """A command that failed, its errors, and the steps since then."""

    attempt_key: str
    fingerprints: list[str]
    steps: list[str]


class WorkLog(msgspec.Struct, array_like=True):
    """Bounded: it keeps the most relevant entries of each kind. `changed_errors` are those that the last batch of lines
    changed, with False for dropped ones."""

    files: dict[str, TouchedFile] = msgspec.field(default_factory=dict)
    commands: dict[str, LoggedCommand] = msgspec.field(default_factory=dict)
    errors: dict[str, LoggedError] = msgspec.field(default_factory=dict)
    commits: dict[str, LoggedCommit] = msgspec.field(default_factory=dict)
    pending: dict[str, PendingCall] = msgspec.field(default_factory=dict)
    open_failures: list[OpenFailure] = msgspec.field(default_factory=list)
    changed_errors: dict[str, bool] = msgspec.field(default_factory=dict)

    def add_call(self, call: ToolCall) -> None:
        pending = PendingCall(
            call.tool,
            _build_attempt_key(call),
            call.command[:_COMMAND_CHARACTERS].strip(),
            call.text,
            [path[:_PATH_CHARACTERS] for path in call.paths],
            call.edits,
        )
        self.pending[call.id] = pending
        if len(self.pending) > _MAX_PENDING_CALLS:
            del self.pending[next(iter(self.pending))]

    def is_command(self, call_id: str) -> bool:
        """Does this call, whose result has not come yet, run a command?"""
        return call_id in self.pending and bool(self.pending[call_id].command)

    def add_result(self, result: ToolResult, line: int, at: int | None) -> tuple[str, list[ErrorMessage]]:
        """The tool whose call this ends, and its errors. A command that still runs has neither failed nor succeeded."""
        pending = self.pending.pop(result.id, None)
        if pending is None:
            return "", []
        if pending.command and not result.failed and _STILL_RUNNING.search(result.output[:_HEAD_CHARACTERS]):
            self._count_run(pending, result._replace(exit_code=None), line)
            return pending.tool, []
        hides_failure = bool(pending.command) and bool(_HIDES_EXIT_CODE.search(pending.command))
        shows_error = hides_failure and _OBVIOUS_ERROR.search(result.output[-4000:]) is not None
        failed = result.failed or shows_error
        errors = find_errors(result.output, failed=result.failed) if failed else []
        self._count_run(pending, result, line)
        if failed:
            self._record_failure(pending, errors, line, at)
        else:
            self._record_success(pending, result, line, at)
        return pending.tool, errors

    def _touch_file(self, path: str, line: int, *, edits: bool) -> None:
        file = self.files.setdefault(path, TouchedFile(path))
        file.edits, file.reads, file.line = file.edits + edits, file.reads + (not edits), line
        if len(self.files) > _MAX_ENTRIES:
            others = (other for other in self.files.values() if other is not file)
            del self.files[min(others, key=lambda other: (other.edits, other.reads, other.line)).path]

    def _count_run(self, pending: PendingCall, result: ToolResult, line: int) -> None:
        if not pending.command:
            return
        command = self.commands.setdefault(pending.command, LoggedCommand(pending.command))
        command.runs += 1
        command.failures += result.failed
        command.line, command.exit_code = line, result.exit_code
        if len(self.commands) > _MAX_ENTRIES:
            others = (other for other in self.commands.values() if other is not command)
            del self.commands[min(others, key=lambda other: (other.failures, other.runs, other.line)).command]

    def _record_failure(
        self, pending: PendingCall, errors: list[ErrorMessage], line: int, at: int | None
    ) -> None:
        for error in errors:
            logged = self.errors.get(error.fingerprint)
            if logged is None:
                self.errors[error.fingerprint] = LoggedError(
                    error.fingerprint, error.text, line, at, pending.description
                )
            else:
                logged.times += 1
            self.changed_errors[error.fingerprint] = True
        self._drop_least_errors()
        fingerprints = [error.fingerprint for error in errors]
        earlier = next(
            (failure for failure in self.open_failures if failure.attempt_key == pending.attempt_key), None
        )
        if earlier is not None:
            gone = [fingerprint for fingerprint in earlier.fingerprints if fingerprint not in fingerprints]
            self._mark_fixed(earlier, gone, line)
            earlier.fingerprints = list(dict.fromkeys([*fingerprints, *earlier.fingerprints]))[:_MAX_STEPS]
        elif errors:
            failure = OpenFailure(pending.attempt_key, fingerprints, [])
            self.open_failures = [*self.open_failures, failure][-_MAX_OPEN_FAILURES:]
        if not pending.edits:
            self._add_step(pending, except_key=pending.attempt_key)

    def _record_success(self, pending: PendingCall, result: ToolResult, line: int, at: int | None) -> None:
        for path in pending.paths:
            self._touch_file(path, line, edits=pending.edits)
        for failure in [*self.open_failures]:
            if _succeeds_at(pending, failure):
                self._add_chained_step(failure, pending)
                self._mark_fixed(failure, failure.fingerprints, line)
                self.open_failures.remove(failure)
        self._add_step(pending, except_key=pending.attempt_key)
        if "git" in pending.command:
            commits = _COMMIT_LINE.findall(result.output[:4000])[:_MAX_COMMITS_PER_RESULT]
            for branch, commit, message in commits:
                self.commits[commit] = LoggedCommit(commit, branch, message.strip(), line, at)
                if len(self.commits) > _MAX_ENTRIES:
                    del self.commits[next(iter(self.commits))]

    def _mark_fixed(self, failure: OpenFailure, fingerprints: list[str], line: int) -> None:
        """A command no longer shows these errors, so the steps since the failure have fixed them."""
        for fingerprint in fingerprints:
            error = self.errors.get(fingerprint)
            if error is not None and failure.steps and not error.fixed_line:
                error.fixed_line, error.followed_by = line, list(failure.steps)
                self.changed_errors[fingerprint] = True

    def _add_chained_step(self, failure: OpenFailure, pending: PendingCall) -> None:
        """`pip install x && python app.py` is the fix and the attempt in one command."""
        if len(list_attempt_keys(pending.command)) > 1 and pending.command not in failure.steps:
            failure.steps = [*failure.steps, pending.command.split("\n", 1)[0]][-_MAX_STEPS:]

    def _add_step(self, pending: PendingCall, except_key: str) -> None:
        """Add the call as a step to every open failure. Read-only commands are not steps: they fix nothing."""
        if pending.edits:
            step = f"edit {', '.join(pending.paths)}"[:_COMMAND_CHARACTERS]
        elif pending.command and not _READ_ONLY_COMMAND.match(LEADING_COMMANDS.sub("", pending.command)):
            step = pending.command.split("\n", 1)[0]
        else:
            return
        for failure in self.open_failures:
            if failure.attempt_key != except_key and step not in failure.steps:
                failure.steps = [*failure.steps, step][-_MAX_STEPS:]

    def _drop_least_errors(self) -> None:
        while len(self.errors) > _MAX_ENTRIES:
            least = min(
                self.errors.values(), key=lambda error: (bool(error.fixed_line), error.times, error.line)
            )
            del self.errors[least.fingerprint]
            self.changed_errors[least.fingerprint] = False


def _succeeds_at(pending: PendingCall, failure: OpenFailure) -> bool:
    """Is the call, which succeeded, an attempt at what failed?"""
    keys = list_attempt_keys(pending.command) if pending.command else [pending.attempt_key]
    return any(is_repeated_by(failure.attempt_key, key) for key in keys)


def _build_attempt_key(call: ToolCall) -> str:
    """Two calls with the same key are attempts at the same thing: the program and its first words, or tool and path."""
    if call.command:
        return list_attempt_keys(call.command[:_COMMAND_CHARACTERS])[-1]
    return f"{call.tool} {call.paths[0][:_PATH_CHARACTERS]}" if call.paths else f"{call.tool} {call.text}"
