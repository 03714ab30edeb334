"""The summary of a session that `read_session` shows before the first message."""

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.transcripts import reader, work_log

_MAX_TOOLS = 12
_MAX_FILES = 15
_MAX_COMMANDS = 10
_MAX_ERRORS = 10
_MAX_COMMITS = 15


class SummaryError(Reply):
    """An error that occurred at `line`; `fixed_at` is the line where it no longer occurred, after the steps in
    `followed`."""

    line: int
    error: str
    command: str = ""
    times: int = 1
    fixed_at: int = 0
    followed: list[str] = []


class SummaryCommand(Reply):
    """`exit_code` is that of the last run, if the transcript has it."""

    command: str
    runs: int
    failures: int
    exit_code: int | None = None


class SessionSummary(Reply):
    """`read` lists files that were read but not edited; `omitted` counts what each list leaves out (200 at most)."""

    title: str
    tool: str
    started_at: str = ""
    ended_at: str = ""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    is_sub_agent: bool = False
    user_messages: int = 0
    assistant_messages: int = 0
    tool_calls: dict[str, int] = {}
    tokens: dict[str, int] = {}
    compactions: int = 0
    skipped_lines: int = 0
    edited: list[str] = []
    read: list[str] = []
    commands: list[SummaryCommand] = []
    errors: list[SummaryError] = []
    commits: list[str] = []
    omitted: dict[str, int] = {}


def summarize_session(transcript: reader.TranscriptSummary) -> SessionSummary:
    edited = [file.path for file in transcript.files if file.edits]
    read = [file.path for file in transcript.files if not file.edits]
    return SessionSummary(
        title=transcript.title,
        tool=transcript.format,
        started_at=_format_time(transcript.started_at),
        ended_at=_format_time(transcript.ended_at),
        cwd=transcript.cwd,
        branch=transcript.branch,
        model=transcript.model,
        is_sub_agent=transcript.is_child,
        user_messages=transcript.user_messages,
        assistant_messages=transcript.assistant_messages,
        tool_calls=dict(list(transcript.tools.items())[:_MAX_TOOLS]),
        tokens={
            "input": transcript.input_tokens,
            "output": transcript.output_tokens,
            "cached": transcript.cached_tokens,
        },
        compactions=transcript.compactions,
        skipped_lines=transcript.skipped_lines,
        edited=edited[:_MAX_FILES],
        read=read[:_MAX_FILES],
        commands=[_summarize_command(command) for command in transcript.commands[:_MAX_COMMANDS]],
        errors=[_summarize_error(error) for error in transcript.errors[:_MAX_ERRORS]],
        commits=[f"{commit.commit} {commit.message}" for commit in transcript.commits[-_MAX_COMMITS:]],
        omitted=_count_omitted(
            tool_calls=len(transcript.tools) - _MAX_TOOLS,
            edited=len(edited) - _MAX_FILES,
            read=len(read) - _MAX_FILES,
            commands=len(transcript.commands) - _MAX_COMMANDS,
            errors=len(transcript.errors) - _MAX_ERRORS,
            commits=len(transcript.commits) - _MAX_COMMITS,
        ),
    )


def _count_omitted(**beyond: int) -> dict[str, int]:
    return {name: count for name, count in beyond.items() if count > 0}


def _summarize_command(command: work_log.LoggedCommand) -> SummaryCommand:
    return SummaryCommand(
        command=command.command, runs=command.runs, failures=command.failures, exit_code=command.exit_code
    )


def _summarize_error(error: work_log.LoggedError) -> SummaryError:
    return SummaryError(
        line=error.line,
        error=error.text,
        command=error.command,
        times=error.times,
        fixed_at=error.fixed_line,
        followed=error.followed_by,
    )


def _format_time(at: int | None) -> str:
    return "" if at is None else iso(at)
