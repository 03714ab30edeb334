"""The report of a shell command as Gemini CLI and its forks give it to the model: output, exit code, signal."""

import re

from commonplace.transcripts.transcript_event import ToolResult

# How a command is reported to the model; forks and older versions add a head.
_REPORT_HEAD = re.compile(r"\A(?:Command: (?s:.*?)\nDirectory: [^\n]*\n)?(?:Output|Stdout): ")
_REPORT_TRAILER = re.compile(
    r"(?:\n(?:Exit Code|Signal|Background PIDs|Process Group PGID): [^\n]{0,400}){1,4}\Z"
)
_MAX_TRAILER_CHARACTERS = 2_000
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,5}|\(none\))$", re.MULTILINE)
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
    killed, code = bool(_SIGNAL_LINE.search(trailer)), _EXIT_CODE.search(trailer)
    if code is None:
        return ToolResult(identity, printed, killed, None if killed else 0)
    number = None if code[1] == "(none)" else int(code[1])
    return ToolResult(identity, printed, killed or bool(number), number)
