"""What every program's transcript and hooks tell: a message, a tool call, the result of a tool call."""

import re
from typing import Any, Literal, NamedTuple

from commonplace.journal.json_record import Record, get_nested, list_records, text_or_empty

_COMMAND_NAMES = ("command", "cmd", "script")
_FOLDER_NAMES = ("workdir", "cwd", "directory", "dir_path")
_HANDLE_NAMES = ("session_id", "bash_id", "task_id", "shell_id", "shellId")
_STEP_NAMES = ("content", "step", "description", "title", "task", "subject")
_PATH_NAMES = ("file_path", "notebook_path", "absolute_path", "filePath", "target_file", "path")
_SUBJECT_NAMES = ("pattern", "query", "url", "description", "prompt", "skill", "subject", "name")
_EDITING_TOOL = re.compile(r"(?i)write|edit|replace|patch|create|delete|rename|move")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,1000})$", re.MULTILINE)
_EXIT_CODE = re.compile(r"(?i)\bexit(?:ed with)? code:? (-?\d{1,5})\b|<exit_code>(-?\d{1,5})</exit_code>")
_RUNNING = re.compile(
    r"(?m)^(?:Process running with session ID|Command running in background with ID:|Script running with cell ID) ?"
    r"([\w-]{1,60})|<status>(running)</status>"
)
_CHECKBOX = re.compile(r"(?m)^\s*[-*] \[([ xX~/-])\] (.{1,400})$")
_DONE_STATES = frozenset({"completed", "done", "complete", "x", "cancelled", "deleted"})
_PLAN_TOOLS = frozenset(
    {"todowrite", "updateplan", "writetodos", "updatetodo", "todo", "todolist", "managetodolist"}
)
_QUESTION_TOOLS = frozenset({"askuserquestion", "question", "requestuserinput", "askuser"})
_DETAIL_CHARACTERS = 2_000
_MAX_STEPS = 40
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


StepStatus = Literal["pending", "in_progress", "done"]


class PlanStep(NamedTuple):
    text: str
    status: StepStatus = "pending"
    id: str = ""


class ToolCall(NamedTuple):
    """`purpose` says what a call is for that neither edits nor runs a command: to replace the `plan`, to add or change one
    of its steps, to ask the person (`detail`) or to propose a plan in words (`detail`). `continues` is the handle of the
    running command that the call looks after."""

    id: str
    tool: str
    text: str
    command: str
    paths: tuple[str, ...]
    edits: bool
    at: int | None = None
    folder: str = ""
    purpose: Literal["", "plan", "step", "question", "proposal"] = ""
    plan: tuple[PlanStep, ...] = ()
    detail: str = ""
    continues: str = ""


class ToolResult(NamedTuple):
    """`denied`: a person refused the call. `running` is the handle of a command that has not ended."""

    id: str
    output: str
    failed: bool
    exit_code: int | None
    at: int | None = None
    denied: bool = False
    running: str = ""


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
    call = ToolCall(text_or_empty(identity)[:_ID_CHARACTERS], name, "", "", paths, False)
    if _PATCH_START in command and (patched := tuple(dict.fromkeys(_PATCHED_FILE.findall(command)))[:50]):
        return call._replace(text=_truncate_words(", ".join(patched)), paths=patched, edits=True)
    words = command or (paths[0] if paths else "")
    words = words or next(
        (subject for name in _SUBJECT_NAMES if (subject := text_or_empty(values.get(name)))), ""
    )
    return _add_purpose(
        call._replace(
            text=_truncate_words(words),
            command=command,
            edits=bool(_EDITING_TOOL.search(name)) and bool(paths),
            folder=next((folder for key in _FOLDER_NAMES if (folder := text_or_empty(values.get(key)))), ""),
            continues="" if command else _find_handle(values),
        ),
        values,
    )


def _find_handle(values: Record) -> str:
    handle = next((values[name] for name in _HANDLE_NAMES if isinstance(values.get(name), str | int)), "")
    return str(handle)[:_ID_CHARACTERS]


def _add_purpose(call: ToolCall, values: Record) -> ToolCall:
    """What programs call their lists of things to do, their questions and their plans."""
    name = call.tool.lower().replace("_", "").replace("-", "")
    if name in _PLAN_TOOLS:
        plan = _parse_plan(
            next((values[key] for key in ("todos", "plan", "todoList") if key in values), None)
        )
        return call._replace(purpose="plan" if plan else "", plan=plan)
    if name in ("taskcreate", "taskupdate"):
        step = PlanStep(
            text_or_empty(values.get("subject"))[:400],
            _parse_status(values.get("status")),
            str(values.get("taskId") or "")[:20],
        )
        return call._replace(purpose="step", plan=(step,), continues="")
    if name in _QUESTION_TOOLS:
        asked = [
            text_or_empty(question.get("question")) for question in list_records(values.get("questions"))
        ]
        words = "\n".join(asked) or text_or_empty(values.get("question"))
        return call._replace(purpose="question", detail=words[:_DETAIL_CHARACTERS])
    if name == "exitplanmode" and (proposal := text_or_empty(values.get("plan"))):
        return call._replace(purpose="proposal", detail=proposal[:_DETAIL_CHARACTERS])
    return call


def _parse_plan(steps: Any) -> tuple[PlanStep, ...]:
    """A list of steps, or a text with check boxes."""
    if isinstance(steps, str):
        found = [
            PlanStep(text.strip(), _parse_status(mark.strip())) for mark, text in _CHECKBOX.findall(steps)
        ]
        return tuple(found[:_MAX_STEPS])
    found = [
        PlanStep(text[:400], _parse_status(step.get("status")))
        for step in list_records(steps)
        if (text := next((words for name in _STEP_NAMES if (words := text_or_empty(step.get(name)))), ""))
    ]
    return tuple(found[:_MAX_STEPS])


def _parse_status(status: Any) -> StepStatus:
    word = text_or_empty(status).lower().replace("-", "_")
    if word in _DONE_STATES:
        return "done"
    return "in_progress" if word in ("in_progress", "active", "~", "/") else "pending"


def build_tool_result(identity: Any, output: str, failed: bool | None = None) -> ToolResult:
    """A tool result; tools write the exit code near the beginning or the end of the output."""
    ends = (
        output
        if len(output) <= 2 * _EXIT_CODE_CHARACTERS
        else output[:_EXIT_CODE_CHARACTERS] + output[-_EXIT_CODE_CHARACTERS:]
    )
    is_told = failed is not False and ("xit" in ends or "XIT" in ends)
    match = _EXIT_CODE.search(ends) if is_told else None
    code = int(match[1] or match[2]) if match else None
    running = _RUNNING.search(ends[:_EXIT_CODE_CHARACTERS]) if code is None else None
    return ToolResult(
        text_or_empty(identity)[:_ID_CHARACTERS],
        output,
        failed or bool(code),
        0 if failed is False and not running else code,
        running=(running[1] or running[2]) if running else "",
    )


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
_SIGNAL_LINE = re.compile(r"^Signal: (?!\(none\)|0$)", re.MULTILINE)
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
