"""What a transcript adds to the handoff that the server writes: the last prompt, edits, commands and the last error.

`rooms/archives/handoff_notes.py` keeps them with the session; `rooms/sessions/receipts.py` adds them to what the server
recorded.
"""

from collections.abc import Iterable

from commonplace import masking
from commonplace.shortening import shorten_text
from commonplace.transcripts.reader import TranscriptSummary

_HEADING = "From its transcript:"
_FILES_LABEL = "Files edited"
_MAX_FILES = 15
_MAX_COMMANDS = 5
_PROMPT_CHARACTERS = 500
_PATH_CHARACTERS = 120
_COMMAND_CHARACTERS = 120
_ERROR_CHARACTERS = 300


def compose_transcript_notes(summary: TranscriptSummary) -> str:
    """Compose the notes; empty if the transcript shows nothing. Secrets are masked before a text is cut."""
    latest = sorted(summary.commands, key=lambda command: -command.line)[:_MAX_COMMANDS]
    edited = [file.path for file in summary.files if file.edits][:_MAX_FILES]
    lines = [
        _format_line("Last prompt", [_shorten(summary.last_prompt, _PROMPT_CHARACTERS)]),
        _format_line(
            _FILES_LABEL, [_shorten(_strip_folder(path, summary.cwd), _PATH_CHARACTERS) for path in edited]
        ),
        _format_line("Last commands", [_format_command(one.command, one.exit_code) for one in latest], "; "),
        _format_line("Last error", [_format_last_error(summary)]),
    ]
    noted = [line for line in lines if line]
    return "\n".join([_HEADING, *noted]) if noted else ""


def have_edits(notes: str) -> bool:
    """Whether the transcript of these notes edited a file."""
    return f"\n{_FILES_LABEL}: " in notes


def replace_transcript_notes(handoff: str, notes: str) -> str:
    """The handoff with these notes in place of those of an earlier upload."""
    receipts = handoff.partition(_HEADING + "\n")[0].rstrip()
    return f"{receipts}\n\n{notes}"


def _format_line(label: str, parts: Iterable[str], separator: str = ", ") -> str:
    text = separator.join(part for part in parts if part)
    return f"{label}: {text}" if text else ""


def _format_command(command: str, exit_code: int | None) -> str:
    code = "" if exit_code is None else f" (exit code {exit_code})"
    return _shorten(command, _COMMAND_CHARACTERS) + code


def _format_last_error(summary: TranscriptSummary) -> str:
    error = max(summary.errors, key=lambda logged: logged.line, default=None)
    if error is None:
        return ""
    origin = f" ({_shorten(error.command, _COMMAND_CHARACTERS)})" if error.command else ""
    return _shorten(error.text, _ERROR_CHARACTERS) + origin + (", fixed later" if error.fixed_line else "")


def _strip_folder(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder}/") if folder else path


def _shorten(text: str, max_characters: int) -> str:
    """The text on one line, without secrets."""
    line = " ".join(masking.mask_secrets(text).text.split())
    return shorten_text(line, max_characters)
