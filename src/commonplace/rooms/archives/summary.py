"""What a session was about and what it teaches, as `read_session` shows it before the first message."""

from typing import Any

from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.transcripts import reader
from commonplace.transcripts.lessons import Problem

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


class Summary(Reply):
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
    commands: list[dict[str, Any]] = []
    errors: list[Error] = []
    commits: list[str] = []


def summed_up(known: reader.Summary) -> Summary:
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
        edited=[file.path for file in known.files if file.edits][:_FILES],
        commands=[
            {
                "command": each.command,
                "runs": each.runs,
                "failures": each.failures,
                "exit_code": each.exit_code,
            }
            for each in known.commands[:_COMMANDS]
        ],
        errors=[_error(each) for each in known.errors[:_ERRORS]],
        commits=[f"{each.commit} {each.message}" for each in known.commits][-_COMMITS:],
    )


def _error(problem: Problem) -> Error:
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
