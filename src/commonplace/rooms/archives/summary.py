"""What a session was about and what it teaches, as `read_session` shows it before the first message."""

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.transcripts import lessons, reader

_TOOLS = 12
_FILES = 15
_COMMANDS = 10
_ERRORS = 10
_COMMITS = 15


class Error(Reply):
    """An error that was met at a line; `fixed_at` is the line where it was gone, after what `followed`."""

    line: int
    error: str
    command: str = ""
    times: int = 1
    fixed_at: int = 0
    followed: list[str] = []


class Command(Reply):
    """`exit_code` is that of the last run, where the transcript tells it."""

    command: str
    runs: int
    failures: int
    exit_code: int | None = None


class Summary(Reply):
    """`read` are files that were read and not edited; `omitted` counts what each list leaves out, of 200 at most."""

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
    commands: list[Command] = []
    errors: list[Error] = []
    commits: list[str] = []
    omitted: dict[str, int] = {}


def summed_up(known: reader.Summary) -> Summary:
    edited = [file.path for file in known.files if file.edits]
    read = [file.path for file in known.files if not file.edits]
    return Summary(
        title=known.title,
        tool=known.format,
        started_at=_iso(known.started_at),
        ended_at=_iso(known.ended_at),
        cwd=known.cwd,
        branch=known.branch,
        model=known.model,
        is_sub_agent=known.is_child,
        user_messages=known.user_messages,
        assistant_messages=known.assistant_messages,
        tool_calls=dict(list(known.tools.items())[:_TOOLS]),
        tokens={"input": known.input_tokens, "output": known.output_tokens, "cached": known.cached_tokens},
        compactions=known.compactions,
        skipped_lines=known.skipped,
        edited=edited[:_FILES],
        read=read[:_FILES],
        commands=[_command(each) for each in known.commands[:_COMMANDS]],
        errors=[_error(each) for each in known.errors[:_ERRORS]],
        commits=[f"{each.commit} {each.message}" for each in known.commits[-_COMMITS:]],
        omitted=_omitted(
            tool_calls=len(known.tools) - _TOOLS,
            edited=len(edited) - _FILES,
            read=len(read) - _FILES,
            commands=len(known.commands) - _COMMANDS,
            errors=len(known.errors) - _ERRORS,
            commits=len(known.commits) - _COMMITS,
        ),
    )


def _omitted(**beyond: int) -> dict[str, int]:
    return {name: more for name, more in beyond.items() if more > 0}


def _command(ran: lessons.Command) -> Command:
    return Command(command=ran.command, runs=ran.runs, failures=ran.failures, exit_code=ran.exit_code)


def _error(problem: lessons.Problem) -> Error:
    return Error(
        line=problem.line,
        error=problem.text,
        command=problem.command,
        times=problem.times,
        fixed_at=problem.fixed_line,
        followed=problem.after,
    )


def _iso(at: int | None) -> str:
    return "" if at is None else iso(at)
