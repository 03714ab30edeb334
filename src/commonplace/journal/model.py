"""The facts of a journal. Everything is bounded; times are microseconds, `step` counts the events of the session."""

import msgspec


class Prompt(msgspec.Struct, array_like=True):
    """What a person asked, in their words: the first is the task, the later ones correct it."""

    text: str
    at: int | None = None
    line: int = 0
    step: int = 0


class TurnWords(msgspec.Struct, array_like=True):
    """The last words of the agent in one turn; a `proposal` is a plan that it put to the person."""

    text: str
    at: int | None = None
    line: int = 0
    step: int = 0
    proposal: bool = False


class PlanItem(msgspec.Struct, array_like=True):
    text: str
    status: str = "pending"
    id: str = ""


class LoggedCommand(msgspec.Struct, array_like=True):
    """An invocation. `exit_code` is that of its last run, as far as it was not hidden by a filter; `folder` is where it ran,
    below the session's own folder."""

    command: str
    runs: int = 0
    failures: int = 0
    exit_code: int | None = None
    line: int = 0
    at: int | None = None
    folder: str = ""
    tail: str = ""
    failed: bool = False
    """Whether its last run failed, by its exit code or by what it printed."""
    is_check: bool = False
    reads_only: bool = False
    offered: bool = False
    step: int = 0


class CheckRun(msgspec.Struct, array_like=True):
    """A run of tests, a type checker, a linter or a build."""

    command: str
    ok: bool
    passed: int = 0
    failed: int = 0
    summary: str = ""
    at: int | None = None
    line: int = 0
    step: int = 0


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
    fixed_by: str = ""
    """The command that succeeded in its place."""
    of_command: bool = False
    step: int = 0


class TouchedFile(msgspec.Struct, array_like=True):
    path: str
    reads: int = 0
    edits: int = 0
    line: int = 0
    at: int | None = None
    step: int = 0


class LoggedCommit(msgspec.Struct, array_like=True):
    """`commit` is empty where the program did not show it."""

    commit: str
    branch: str
    message: str
    line: int
    at: int | None = None
    step: int = 0


class Question(msgspec.Struct, array_like=True):
    question: str
    answer: str = ""
    at: int | None = None


class Denial(msgspec.Struct, array_like=True):
    """A call that a person refused, with what they said."""

    tool: str
    text: str
    reason: str = ""
    at: int | None = None


class PendingCall(msgspec.Struct, array_like=True):
    tool: str
    command: str
    text: str
    paths: list[str]
    edits: bool
    folder: str = ""
    purpose: str = ""
    detail: str = ""
    has_started: bool = False
    """Whether the command, which still runs, is among the commands already."""

    @property
    def description(self) -> str:
        return self.command.split("\n", 1)[0] or f"{self.tool} {self.text}".strip()


class OpenFailure(msgspec.Struct, array_like=True):
    """A command that failed, its errors, and the steps since then."""

    attempt_key: str
    fingerprints: list[str]
    steps: list[str]
    command: str = ""


class Journal(msgspec.Struct, array_like=True):
    """What one session did. `record.py` adds to it; the last fields are what it must remember for that."""

    prompts: list[Prompt] = msgspec.field(default_factory=list)
    words: list[TurnWords] = msgspec.field(default_factory=list)
    said: list[TurnWords] = msgspec.field(default_factory=list)
    """What the agent said in between, in its latest turn."""
    plan: list[PlanItem] = msgspec.field(default_factory=list)
    commands: dict[str, LoggedCommand] = msgspec.field(default_factory=dict)
    checks: list[CheckRun] = msgspec.field(default_factory=list)
    errors: dict[str, LoggedError] = msgspec.field(default_factory=dict)
    files: dict[str, TouchedFile] = msgspec.field(default_factory=dict)
    commits: list[LoggedCommit] = msgspec.field(default_factory=list)
    questions: list[Question] = msgspec.field(default_factory=list)
    denials: list[Denial] = msgspec.field(default_factory=list)
    reverts: list[TurnWords] = msgspec.field(default_factory=list)
    pushed_at: int | None = None
    pushed_step: int = 0
    compactions: int = 0
    cwd: str = ""
    branch: str = ""
    started_at: int | None = None
    ended_at: int | None = None
    end_reason: str = ""
    """How the program said that the session ended; empty while it runs, and after a crash."""
    step: int = 0
    pending: dict[str, PendingCall] = msgspec.field(default_factory=dict)
    running: dict[str, PendingCall] = msgspec.field(default_factory=dict)
    open_failures: list[OpenFailure] = msgspec.field(default_factory=list)
    changed_errors: dict[str, bool] = msgspec.field(default_factory=dict)
    """The errors that the last batch of events changed, with False for dropped ones."""

    @property
    def task(self) -> str:
        return self.prompts[0].text if self.prompts else ""

    @property
    def edited_files(self) -> list[TouchedFile]:
        """The files that it changed, the latest first."""
        return sorted((file for file in self.files.values() if file.edits), key=lambda file: -file.step)

    @property
    def last_edit_step(self) -> int:
        return max((file.step for file in self.files.values() if file.edits), default=0)
