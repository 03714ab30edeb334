"""What a session teaches without a model: files touched, commands run, errors met and what followed, commits made."""

import re

import msgspec

from commonplace.transcripts.event import Called, Returned
from commonplace.transcripts.faults import Fault, faults

_MOST = 200
_PENDING = 128
_OPEN = 24
_STEPS = 6
_COMMAND = 300
_PATH = 400
_COMMITS_AT_ONCE = 50
_KEY_WORDS = 2
_HEAD = 400

_LEADING = re.compile(
    r"^(?:\s*(?:cd|pushd|export|source|\.)\s[^&;\n]{0,300}(?:&&|;|\n)\s*|\s*[A-Z_][A-Z0-9_]*=\S{0,300}\s+)+"
)
_FLAG = re.compile(r"^-")
_LOOKS = re.compile(
    r"^(?:cat|ls|head|tail|grep|rg|ag|find|fd|wc|pwd|echo|which|type|sed -n|tree|stat|file|less|env|printenv|ps|df|du|date"
    r"|git (?:status|diff|log|show|branch|blame|remote))\b"
)
_MASKS = re.compile(r"\||;|&&\s*true\b")
_COMMIT = re.compile(r"^\[([^\s\]]{1,200})(?: \([a-z-]{1,20}\))? ([0-9a-f]{7,40})\] (.{1,300})", re.MULTILINE)
_LOUD = re.compile(
    r"Traceback \(most recent call last\)|^error(?:\[E\d{4}\])?: |^FAILED |panicked at |^npm (?:ERR!|error) ",
    re.MULTILINE,
)
_RUNS_ON = re.compile(
    r"^(?:Process running with session ID|Command running in background|Command moved to background)",
    re.MULTILINE,
)


class File(msgspec.Struct, array_like=True):
    path: str
    reads: int = 0
    edits: int = 0
    line: int = 0


class Command(msgspec.Struct, array_like=True):
    command: str
    runs: int = 0
    failures: int = 0
    exit_code: int | None = None
    line: int = 0


class Problem(msgspec.Struct, array_like=True):
    """An error that was met; `after` is what was done between it and the run in which it was gone."""

    fingerprint: str
    text: str
    line: int
    at: int | None = None
    command: str = ""
    times: int = 1
    fixed_line: int = 0
    after: list[str] = msgspec.field(default_factory=list)


class Commit(msgspec.Struct, array_like=True):
    commit: str
    branch: str
    message: str
    line: int
    at: int | None = None


class Pending(msgspec.Struct, array_like=True):
    tool: str
    key: str
    command: str
    text: str
    paths: list[str]
    edits: bool

    @property
    def told(self) -> str:
        return self.command or f"{self.tool} {self.text}".strip()


class Open(msgspec.Struct, array_like=True):
    """A command that failed, what it showed, and what was done since."""

    key: str
    fingerprints: list[str]
    steps: list[str]


class Lessons(msgspec.Struct, array_like=True):
    """Bounded: of each kind the most telling are kept. `changed` are the problems that a batch of lines touched."""

    files: dict[str, File] = msgspec.field(default_factory=dict)
    commands: dict[str, Command] = msgspec.field(default_factory=dict)
    problems: dict[str, Problem] = msgspec.field(default_factory=dict)
    commits: dict[str, Commit] = msgspec.field(default_factory=dict)
    pending: dict[str, Pending] = msgspec.field(default_factory=dict)
    open: list[Open] = msgspec.field(default_factory=list)
    changed: dict[str, bool] = msgspec.field(default_factory=dict)

    def call(self, called: Called) -> None:
        pending = Pending(
            called.tool,
            _key(called),
            called.command[:_COMMAND].strip(),
            called.text,
            [path[:_PATH] for path in called.paths],
            called.edits,
        )
        self.pending[called.id] = pending
        if len(self.pending) > _PENDING:
            del self.pending[next(iter(self.pending))]

    def result(self, returned: Returned, line: int, at: int | None) -> tuple[str, list[Fault]]:
        """The tool whose call this ends, and the errors that it showed; what still runs has neither failed nor passed."""
        pending = self.pending.pop(returned.id, None)
        if pending is None:
            return "", []
        if pending.command and not returned.failed and _RUNS_ON.search(returned.output[:_HEAD]):
            self._run(pending, returned._replace(exit_code=None), line)
            return pending.tool, []
        masked = bool(pending.command) and bool(_MASKS.search(pending.command))
        loud = masked and _LOUD.search(returned.output[-4000:]) is not None
        failed = returned.failed or loud
        found = faults(returned.output, failed=returned.failed) if failed else []
        self._run(pending, returned, line)
        if failed:
            self._fail(pending, found, line, at)
        else:
            self._succeed(pending, returned, line, at)
        return pending.tool, found

    def _touch(self, path: str, line: int, *, edits: bool) -> None:
        file = self.files.setdefault(path, File(path))
        file.edits, file.reads, file.line = file.edits + edits, file.reads + (not edits), line
        if len(self.files) > _MOST:
            others = (each for each in self.files.values() if each is not file)
            del self.files[min(others, key=lambda each: (each.edits, each.reads, each.line)).path]

    def _run(self, pending: Pending, returned: Returned, line: int) -> None:
        if not pending.command:
            return
        ran = self.commands.setdefault(pending.command, Command(pending.command))
        ran.runs, ran.failures, ran.line = ran.runs + 1, ran.failures + returned.failed, line
        ran.exit_code = returned.exit_code
        if len(self.commands) > _MOST:
            others = (each for each in self.commands.values() if each is not ran)
            del self.commands[min(others, key=lambda each: (each.failures, each.runs, each.line)).command]

    def _fail(self, pending: Pending, found: list[Fault], line: int, at: int | None) -> None:
        for fault in found:
            known = self.problems.get(fault.fingerprint)
            if known is None:
                self.problems[fault.fingerprint] = Problem(
                    fault.fingerprint, fault.text, line, at, pending.told
                )
            else:
                known.times += 1
            self.changed[fault.fingerprint] = True
        self._forget_problems()
        same = next((each for each in self.open if each.key == pending.key), None)
        fingerprints = [fault.fingerprint for fault in found]
        if same is not None:
            self._settle(same, [each for each in same.fingerprints if each not in fingerprints], line)
            same.fingerprints = list(dict.fromkeys([*fingerprints, *same.fingerprints]))[:_STEPS]
        elif found:
            self.open = [*self.open, Open(pending.key, fingerprints, [])][-_OPEN:]
        if not pending.edits:
            self._step(pending, besides=pending.key)

    def _succeed(self, pending: Pending, returned: Returned, line: int, at: int | None) -> None:
        for path in pending.paths:
            self._touch(path, line, edits=pending.edits)
        for each in [each for each in self.open if each.key == pending.key]:
            self._settle(each, each.fingerprints, line)
            self.open.remove(each)
        self._step(pending, besides=pending.key)
        if "git" in pending.command:
            for branch, commit, message in _COMMIT.findall(returned.output[:4000])[:_COMMITS_AT_ONCE]:
                self.commits[commit] = Commit(commit, branch, message.strip(), line, at)
                if len(self.commits) > _MOST:
                    del self.commits[next(iter(self.commits))]

    def _settle(self, failed: Open, fingerprints: list[str], line: int) -> None:
        """These errors are gone from a command that showed them, so what was done since has helped."""
        for fingerprint in fingerprints:
            problem = self.problems.get(fingerprint)
            if problem is not None and failed.steps and not problem.fixed_line:
                problem.fixed_line, problem.after = line, list(failed.steps)
                self.changed[fingerprint] = True

    def _step(self, pending: Pending, besides: str) -> None:
        """What was done counts as a step for every failure that is still open; looking at things mends nothing."""
        if pending.edits:
            step = f"edit {', '.join(pending.paths)}"[:_COMMAND]
        elif pending.command and not _LOOKS.match(_LEADING.sub("", pending.command)):
            step = pending.command.split("\n", 1)[0]
        else:
            return
        for each in self.open:
            if each.key != besides and step not in each.steps:
                each.steps = [*each.steps, step][-_STEPS:]

    def _forget_problems(self) -> None:
        while len(self.problems) > _MOST:
            least = min(
                self.problems.values(), key=lambda each: (bool(each.fixed_line), each.times, each.line)
            )
            del self.problems[least.fingerprint]
            self.changed[least.fingerprint] = False


def _key(called: Called) -> str:
    """What makes two calls tries of the same thing: the program and its first words, or the tool and its path."""
    if not called.command:
        return f"{called.tool} {called.paths[0][:_PATH]}" if called.paths else f"{called.tool} {called.text}"
    main = _LEADING.sub("", called.command[:_COMMAND]).strip()
    words = [word for word in main.split("|", 1)[0].split() if not _FLAG.match(word)]
    return " ".join(words[:_KEY_WORDS])
