"""The events that every transcript format contains: a message, a tool call, the result of a tool call."""

import re
from typing import Any, NamedTuple

from commonplace.transcripts.json_record import Record, get_nested, text_or_empty

_COMMAND_NAMES = ("command", "cmd", "script")
_PATH_NAMES = ("file_path", "notebook_path", "absolute_path", "filePath", "target_file", "path")
_SUBJECT_NAMES = ("pattern", "query", "url", "description", "prompt", "skill", "subject", "name")
_EDITING_TOOL = re.compile(r"(?i)write|edit|replace|patch|create|delete|rename|move")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,1000})$", re.MULTILINE)
_EXIT_CODE = re.compile(r"(?i)\bexit(?:ed with)? code:? (-?\d{1,5})\b")
_PATCH_START = "*** Begin Patch"
_CALL_TEXT_CHARACTERS = 300
_EXIT_CODE_CHARACTERS = 400
_SHELL_COMMAND_WORDS = 3
_MAX_RESPONSE_DEPTH = 6
_ID_CHARACTERS = 100


class Message(NamedTuple):
    role: str
    text: str
    at: int | None = None


class ToolCall(NamedTuple):
    id: str
    tool: str
    text: str
    command: str
    paths: tuple[str, ...]
    edits: bool
    at: int | None = None


class ToolResult(NamedTuple):
    id: str
    output: str
    failed: bool
    exit_code: int | None
    at: int | None = None


TranscriptEvent = Message | ToolCall | ToolResult


class ParsedLine(NamedTuple):
    """The events of one line; `aside`: a sub-agent wrote it into the session of its parent."""

    at: int | None
    events: list[TranscriptEvent]
    aside: bool = False


def build_tool_call(identity: Any, tool: Any, arguments: Any) -> ToolCall:
    """A tool call from its arguments: the command, the paths, and a short text that identifies it."""
    values: Record = arguments if isinstance(arguments, dict) else {"command": arguments}
    command = next((line for name in _COMMAND_NAMES if (line := _join_command(values.get(name)))), "")
    paths = tuple(path for name in _PATH_NAMES if (path := text_or_empty(values.get(name))))[:1]
    name = text_or_empty(tool)[:_ID_CHARACTERS] or "unknown"
    call_id = text_or_empty(identity)[:_ID_CHARACTERS]
    patched = tuple(dict.fromkeys(_PATCHED_FILE.findall(command)))[:50] if _PATCH_START in command else ()
    if patched:
        return ToolCall(call_id, name, _truncate_words(", ".join(patched)), "", patched, True)
    words = command or (paths[0] if paths else "")
    words = words or next(
        (subject for name in _SUBJECT_NAMES if (subject := text_or_empty(values.get(name)))), ""
    )
    return ToolCall(
        call_id,
        name,
        _truncate_words(words),
        command,
        paths,
        bool(_EDITING_TOOL.search(name)) and bool(paths),
    )


def build_tool_result(identity: Any, output: str, failed: bool | None = None) -> ToolResult:
    """A tool result; tools write the exit code near the beginning or the end of the output."""
    if failed is False:
        return ToolResult(text_or_empty(identity)[:_ID_CHARACTERS], output, False, 0)
    ends = (
        output
        if len(output) <= 2 * _EXIT_CODE_CHARACTERS
        else output[:_EXIT_CODE_CHARACTERS] + output[-_EXIT_CODE_CHARACTERS:]
    )
    match = _EXIT_CODE.search(ends) if "xit" in ends or "XIT" in ends else None
    code = int(match[1]) if match else None
    return ToolResult(text_or_empty(identity)[:_ID_CHARACTERS], output, failed or bool(code), code)


def _join_command(command: Any) -> str:
    """A command as a person would type it: `["bash", "-lc", "make"]` becomes `make`."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return ""
    words = [word for word in command if isinstance(word, str)]
    if len(words) == _SHELL_COMMAND_WORDS and words[1] in ("-c", "-lc", "-Command", "/c"):
        return words[2]
    return " ".join(words)


def _truncate_words(words: str) -> str:
    first = words.strip().split("\n", 1)[0] if "\n" in words.strip() else words.strip()
    return first if len(first) <= _CALL_TEXT_CHARACTERS else first[: _CALL_TEXT_CHARACTERS - 1] + "…"


def extract_response_text(value: Any, depth: int = 0) -> str:
    """The text of a tool result: plain, in blocks, or under a key of its protocol."""
    if isinstance(value, str):
        return value
    if depth > _MAX_RESPONSE_DEPTH:
        return ""
    if isinstance(value, dict):
        for name in ("output", "text", "content", "error", "stdout"):
            if text := extract_response_text(value.get(name), depth + 1):
                return text
        return ""
    if isinstance(value, list):
        return "\n".join(
            text for block in value if (text := extract_response_text(_unwrap_response(block), depth + 1))
        )
    return ""


def _unwrap_response(value: Any) -> Any:
    """Gemini wraps a result twice."""
    inner = get_nested(value, "functionResponse", "response")
    return value if inner is None else inner


# How a command is reported to the model; forks and older versions add a head.
_REPORT_HEAD = re.compile(r"\A(?:Command: (?s:.*?)\nDirectory: [^\n]*\n)?(?:Output|Stdout): ")
_REPORT_TRAILER = re.compile(
    r"(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]{0,400}){1,4}\Z"
)
_MAX_TRAILER_CHARACTERS = 2_000
_REPORTED_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,5}|\(none\))$", re.MULTILINE)
_SIGNAL_LINE = re.compile(r"^Signal: (?!\(none\))", re.MULTILINE)
_NO_ERROR_TEXT = "\nError: (none)"
_STDERR_MARK = "\nStderr: "
_EMPTY_OUTPUT = "(empty)"


def parse_command_report(identity: str, output: str) -> ToolResult | None:
    """The result of a command, None if this is no such report; without an exit code and a signal it succeeded."""
    head = _REPORT_HEAD.match(output)
    if head is None:
        return None
    start = head.end()
    match = _REPORT_TRAILER.search(output, max(start, len(output) - _MAX_TRAILER_CHARACTERS))
    trailer = match[0] if match else ""
    stdout, _, stderr = (
        output[start : len(output) - len(trailer)].removesuffix(_NO_ERROR_TEXT).partition(_STDERR_MARK)
    )
    printed = "\n".join(part for part in (stdout, stderr) if part.strip() not in ("", _EMPTY_OUTPUT))
    killed, code = bool(_SIGNAL_LINE.search(trailer)), _REPORTED_EXIT_CODE.search(trailer)
    if code is None:
        return ToolResult(identity, printed, killed, None if killed else 0)
    number = None if code[1] == "(none)" else int(code[1])
    return ToolResult(identity, printed, killed or bool(number), number)
