"""What every format says in its own way: words, a call of a tool, and what the call returned."""

import re
from typing import Any, NamedTuple

from commonplace.transcripts.record import Record, nested, text

_COMMAND = ("command", "cmd", "script")
_PATHS = ("file_path", "notebook_path", "absolute_path", "filePath", "target_file", "path")
_SAYS = ("pattern", "query", "url", "description", "prompt", "skill", "subject", "name")
_EDITS = re.compile(r"(?i)write|edit|replace|patch|create|delete|rename|move")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,1000})$", re.MULTILINE)
_EXIT = re.compile(r"(?i)\bexit(?:ed with)? code:? (-?\d{1,5})\b")
_PATCH = "*** Begin Patch"
_SHOWN = 300
_HEAD = 400
_WRAPPED = 3
_NESTED = 6
_ID = 100


class Said(NamedTuple):
    role: str
    text: str
    at: int | None = None


class Called(NamedTuple):
    id: str
    tool: str
    text: str
    command: str
    paths: tuple[str, ...]
    edits: bool
    at: int | None = None


class Returned(NamedTuple):
    id: str
    output: str
    failed: bool
    exit_code: int | None
    at: int | None = None


Event = Said | Called | Returned


class Parsed(NamedTuple):
    """What one line holds; `aside` is what a sub-agent did inside another's session."""

    at: int | None
    events: list[Event]
    aside: bool = False


def called(identity: Any, tool: Any, given: Any) -> Called:
    """A call by what it was given: its command, the paths that it names, and the few words that tell it apart."""
    values: Record = given if isinstance(given, dict) else {"command": given}
    command = next((found for name in _COMMAND if (found := _line(values.get(name)))), "")
    paths = tuple(found for name in _PATHS if (found := text(values.get(name))))[:1]
    name, identity = text(tool)[:_ID] or "unknown", text(identity)[:_ID]
    patched = tuple(dict.fromkeys(_PATCHED.findall(command)))[:50] if _PATCH in command else ()
    if patched:
        return Called(identity, name, _cut(", ".join(patched)), "", patched, True)
    words = command or (paths[0] if paths else "")
    words = words or next((found for name in _SAYS if (found := text(values.get(name)))), "")
    return Called(identity, name, _cut(words), command, paths, bool(_EDITS.search(name)) and bool(paths))


def returned(identity: Any, output: str, failed: bool | None = None) -> Returned:
    """What came back; the exit code is looked for where the tools write it, at either end."""
    if failed is False:
        return Returned(text(identity)[:_ID], output, False, 0)
    ends = output if len(output) <= 2 * _HEAD else output[:_HEAD] + output[-_HEAD:]
    found = _EXIT.search(ends) if "xit" in ends or "XIT" in ends else None
    code = int(found[1]) if found else None
    return Returned(text(identity)[:_ID], output, failed or bool(code), code)


def _line(command: Any) -> str:
    """A command as one would type it: `["bash", "-lc", "make"]` is `make`."""
    if isinstance(command, str):
        return command
    if not isinstance(command, list):
        return ""
    words = [word for word in command if isinstance(word, str)]
    if len(words) == _WRAPPED and words[1] in ("-c", "-lc", "-Command", "/c"):
        return words[2]
    return " ".join(words)


def _cut(words: str) -> str:
    first = words.strip().split("\n", 1)[0] if "\n" in words.strip() else words.strip()
    return first if len(first) <= _SHOWN else first[: _SHOWN - 1] + "…"


def response(value: Any, depth: int = 0) -> str:
    """The text of a tool's answer: plain, in blocks, or under the name that its protocol gives it."""
    if isinstance(value, str):
        return value
    if depth > _NESTED:
        return ""
    if isinstance(value, dict):
        for name in ("output", "text", "content", "error", "stdout"):
            if found := response(value.get(name), depth + 1):
                return found
        return ""
    if isinstance(value, list):
        return "\n".join(found for each in value if (found := response(_unwrapped(each), depth + 1)))
    return ""


def _unwrapped(value: Any) -> Any:
    """Gemini wraps an answer twice."""
    inner = nested(value, "functionResponse", "response")
    return value if inner is None else inner
