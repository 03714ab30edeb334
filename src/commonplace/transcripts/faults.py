"""Errors in what a tool printed, and the fingerprint by which the same error is known again elsewhere.

A fingerprint keeps the type and the stable words; what varies from run to run (paths, numbers, addresses, times,
quoted values) is taken out. Names stay: `No module named 'yaml'` is another error than `No module named 'toml'`.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEAD = 2_000
_TAIL = 6_000
_LONGEST_LINE = 400
_HEAD_LINES = 100
_TAIL_LINES = 300
_MOST = 5
_LETTERS = 5
_SHOWN = 300

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_PLACE = r"(?:[\w@.+~-]*[\\/])*[\w@.+~-]+\.[A-Za-z]\w{0,5}"

# Tried in this order on each line; the group is the error itself. All start with something literal or anchored, and
# none has a repetition inside a repetition over the same characters.
_KINDS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:E\s{1,8}|Caused by: |Uncaught |\[?ERROR\]?:? {1,4})?((?:[A-Za-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b(?: \[\w+\])?(?::.*|$))",
        r'^Exception in thread "[^"]{0,100}" (.*)',
        r"^(?:Uncaught )?(Error: .+)",
        r"^(error(?:\[E\d{4}\]): .+)",
        r"^thread '[^']{0,100}'.{0,30} (panicked at .*)",
        r"^(panic: .+)",
        r"^(fatal error: .+)",
        rf"^{_PLACE}:\d+(?::\d+)?: ((?:fatal )?error: .+)",
        rf"^{_PLACE}\(\d+,\d+\): (error [A-Z]{{2,6}}\d+: .+)",
        rf"^{_PLACE}:\d+:\d+ - (error [A-Z]{{2,6}}\d+: .+)",
        r"^FAILED (\S+(?: - .+)?)",
        r"^ERROR (\S+::\S+(?: - .+)?|\S+\.py(?: - .+)?)$",
        r"^--- (FAIL: \S+)",
        rf"^(?:\./)?{_PLACE}:\d+:\d+: (.+)",
        r"^(?:\S{1,100}: )?(?:line \d+: |\d+: )?([\w.+-]{1,60}: (?:command )?not found)$",
        r"^\S{1,40}: (command not found: \S+)",
        r"^(?:\S{1,60}: )(?:cannot .{1,80}: |.{1,200}: )?(No such file or directory|Permission denied)$",
        r"^npm (?:ERR!|error) (code \S+)",
        r"^(fatal: .+)",
        r"^(error: .+)",
        r"^\W{0,4}((?:Build|Compilation|Test|Tests) failed\b.*)",
        r"^make(?:\[\d+\])?: \*\*\* (.+)",
    )
)
_HINT = re.compile(
    r"(?i)\berr!|error|exception|panic|fail|fatal|not found|no such file|denied|interrupt|exit|\*\*\*|:\d+:\d+: "
)
_UNKNOWN_COMMAND = re.compile(r"^([\w.+-]{1,60}): not found$|^command not found: ([\w.+-]{1,60})$")
# From this kind on a line tells that something failed, not why.
_SUMMED_UP = 10
_PANIC = "panicked at"
_NEXT_LINE = re.compile(r"panicked at .{1,300}:\d+:\d+:$")
_WEAK = re.compile(
    r"^(?:make: )|^(?:Recipe|recipe) for target|could not compile `|^aborting due to|Failed .* errors?"
)
# What a tool writes around the output, and what is no error at all.
_FRAME = re.compile(
    r"(?i)(?:(?:exit code|process exited with code):? -?\d{1,10}|(?:chunk id|wall time|original token count): .{1,60}"
    r"|(?:output|stdout|stderr):(?: \(empty\))?|error: \(none\))"
)

_TIME = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?"
)
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")
_HEX = re.compile(r"\b0[xX][0-9a-fA-F]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,10}://[^\s'\"`)>,]+")
_QUOTED = re.compile(r"'([^'\n]{0,400})'|\"([^\"\n]{0,400})\"|`([^`\n]{0,400})`")
_NAME = re.compile(r"[@A-Za-z_$][\w$.@:-]{0,80}(?:/[\w$.@-]{1,60})?")
_PATH = re.compile(
    r"(?<![\w<@])(?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/][\w@.+~-]+){2,40}[\\/]?|(?<![\w<@/])(?:[\w@.+~-]+/){1,40}[\w@.+~-]+\.\w{1,8}\b|(?<![\w<@/])(?:~|\.{1,2})?/[\w.-]+\.\w{1,8}\b"
)
_AT = re.compile(r"(?<=<path>):\d+(?::\d+)?")
_NUMBER = re.compile(
    r"(?<![A-Za-z_])[+-]?\d+(?:[.,]\d+)*(?:ms|s|kb|KB|MB|GB|%)?\b(?!\w)|(?<=[A-Za-z_])\d{3,}|(?<=_)\d+\b"
)
_SPACE = re.compile(r"\s+")
_CODE = re.compile(r"\b(?:E\d{4}|[A-Z]{2,6}\d{3,5}|E[A-Z]{3,})\b")


@dataclass(frozen=True, slots=True)
class Fault:
    fingerprint: str
    text: str
    normal: str


def faults(output: str, *, failed: bool) -> list[Fault]:
    """The distinct errors that an output shows, the most telling kinds first; of a failure at least its last line."""
    lines = _lines(_ANSI.sub("", _excerpt(output)))
    found = list(_matches(lines))
    if not found and failed:
        found = [(len(_KINDS), line.strip()) for line in reversed(lines) if _telling(line)][:1]
    distinct: dict[str, tuple[int, Fault]] = {}
    for rank, text in found:
        fault = fault_of(text)
        if fault.fingerprint not in distinct:
            distinct[fault.fingerprint] = (rank, fault)
    ordered = sorted(distinct.values(), key=lambda pair: pair[0] >= _SUMMED_UP)
    return [fault for _, fault in ordered][:_MOST]


def fault_of(text: str) -> Fault:
    normal = normalised(text)
    digest = hashlib.blake2b(normal.lower().encode(), digest_size=8).hexdigest()
    return Fault(digest, text.strip()[:_SHOWN], normal)


def _excerpt(output: str) -> str:
    """An error stands at the beginning or at the end; the bulk between is not looked at."""
    if len(output) <= _HEAD + _TAIL:
        return output
    return output[:_HEAD] + "\n" + output[-_TAIL:]


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) > _HEAD_LINES + _TAIL_LINES:
        lines = lines[:_HEAD_LINES] + lines[-_TAIL_LINES:]
    return lines


def _telling(line: str) -> bool:
    letters = sum(character.isalpha() for character in line[:_LONGEST_LINE])
    return letters >= _LETTERS and not _FRAME.fullmatch(line.strip())


def _matches(lines: list[str]) -> Iterator[tuple[int, str]]:
    for at, given in enumerate(lines):
        line = given.strip()[:_LONGEST_LINE]
        if not _HINT.search(line) or _WEAK.search(line) or _FRAME.fullmatch(line):
            continue
        for rank, kind in enumerate(_KINDS):
            if found := kind.match(line):
                message = found[1]
                if _NEXT_LINE.search(message) and at + 1 < len(lines):
                    message = f"{_PANIC} {lines[at + 1].strip()[:_LONGEST_LINE]}"
                yield rank, message
                break


def normalised(text: str) -> str:
    """What the same error says every time."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\x01{chr(0xE000 + len(kept))}\x01"

    line = text.split("\n", 1)[0].strip()[:_LONGEST_LINE]
    line = _UNKNOWN_COMMAND.sub(lambda found: f"{found[1] or found[2]}: command not found", line)
    line = _CODE.sub(keep, line)
    for pattern, instead in ((_TIME, "<time>"), (_UUID, "<id>"), (_ADDRESS, "<address>"), (_HEX, "<hex>")):
        line = pattern.sub(instead, line)
    line = _QUOTED.sub(_unquoted, line)
    line = _AT.sub("", _PATH.sub("<path>", line))
    line = _NUMBER.sub("<n>", line)
    for number, word in enumerate(kept, 1):
        line = line.replace(f"\x01{chr(0xE000 + number)}\x01", word)
    return _SPACE.sub(" ", line).strip(" .")[:_SHOWN]


def _unquoted(found: re.Match[str]) -> str:
    """A name in quotes is what the error is about; anything else in quotes is this run's."""
    value = next((group for group in found.groups() if group is not None), "")
    if _NAME.fullmatch(value) and not value.endswith(
        (".py", ".js", ".ts", ".rs", ".go", ".java", ".txt", ".json")
    ):
        return f"'{value}'"
    return "'…'" if value else "''"
