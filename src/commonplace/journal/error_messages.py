"""Find error messages in the output of a tool, and fingerprint them so that the same error is recognized elsewhere.

A fingerprint covers the type and the stable words; what varies from run to run (paths, numbers, addresses, times,
quoted values) is removed. Names stay: `No module named 'yaml'` differs from `No module named 'toml'`.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_HEAD_CHARACTERS = 2_000
_TAIL_CHARACTERS = 6_000
_MAX_LINE_CHARACTERS = 400
_HEAD_LINES = 100
_TAIL_LINES = 300
_MAX_ERRORS = 5
_MIN_LETTERS = 5
_ERROR_CHARACTERS = 300

_ANSI_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_SOURCE_FILE = r"(?:[\w@.+~-]*[\\/])*[\w@.+~-]+\.[A-Za-z]\w{0,5}"

# Tried in this order on each line; the group is the error itself, and a reason inside it is what its fingerprint covers,
# because every program says that with other words before it. To stay linear, each starts with an anchor or a
# literal, and none nests repetitions over the same characters.
_ERROR_PATTERNS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:E\s{1,8}|Caused by: |Uncaught |\[?ERROR\]?:? {1,4})?((?:[A-Za-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b(?: \[\w+\])?(?::.*|$))",
        r'^Exception in thread "[^"]{0,100}" (.*)',
        r"^(?:Uncaught )?(Error: .+)",
        r"^(error(?:\[E\d{4}\]): .+)",
        r"^thread '[^']{0,100}'.{0,30} (panicked at .*)",
        r"^(panic: .+)",
        r"^(fatal error: .+)",
        rf"^{_SOURCE_FILE}:\d+(?::\d+)?: ((?:fatal )?error: .+)",
        rf"^{_SOURCE_FILE}\(\d+,\d+\): (error [A-Z]{{2,6}}\d+: .+)",
        rf"^{_SOURCE_FILE}:\d+:\d+ - (error [A-Z]{{2,6}}\d+: .+)",
        r"^FAILED (\S+(?: - .+)?)",
        r"^ERROR (\S+::\S+(?: - .+)?|\S+\.py(?: - .+)?)$",
        r"^--- (FAIL: \S+)",
        rf"^(?:\./)?{_SOURCE_FILE}:\d+:\d+: (.+)",
        r"^(?:\S{1,100}: )?(?:line \d+: |\d+: )?([\w.+-]{1,60}: (?:command )?not found)$",
        r"^\S{1,40}: (command not found: \S+)",
        r"^(\S{1,60}: (?:cannot .{1,80}: |.{1,200}: )?(?P<reason>No such file or directory|Permission denied))$",
        r"^npm (?:ERR!|error) (code \S+)",
        r"^(fatal: .+)",
        r"^(error: .+)",
        r"^\W{0,4}((?:Build|Compilation|Test|Tests) failed\b.*)",
        r"^make(?:\[\d+\])?: \*\*\* (.+)",
    )
)
_MAY_BE_ERROR = re.compile(
    r"(?i)\berr!|error|exception|panic|fail|fatal|not found|no such file|denied|interrupt|exit|\*\*\*|:\d+:\d+: "
)
_TELLS_FAILURE = re.compile(
    r"(?i)\b(?:errors?|failed|failure|cannot|can't|could not|couldn't|unable to|not found|no such|unknown|invalid|denied|missing"
    r"|unexpected|unrecognized|not (?:installed|allowed|supported|exist)|oops|refused|timed out)\b"
)
_UNKNOWN_COMMAND = re.compile(r"^([\w.+-]{1,60}): not found$|^command not found: ([\w.+-]{1,60})$")
# From this pattern on, a line says that something failed, not why.
_FIRST_SUMMARY_PATTERN = 10
_PANIC_PREFIX = "panicked at"
_PANIC_WITHOUT_MESSAGE = re.compile(r"panicked at .{1,300}:\d+:\d+:$")
_FOLLOW_UP_ERROR = re.compile(
    r"^(?:make: )|^(?:Recipe|recipe) for target|could not compile `|^aborting due to|Failed .* errors?"
)
# Lines that tools add around the output; none of them is an error.
_TOOL_FRAME = re.compile(
    r"(?i)(?:(?:exit code|process exited with code):? -?\d{1,10}|(?:chunk id|wall time|original token count): .{1,60}"
    r"|(?:output|stdout|stderr):(?: \(empty\))?|error: \(none\))"
)

_TIME = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?"
)
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")
_HEX = re.compile(r"\b0[xX][0-9a-fA-F]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,10}://[^\s'\"`)>,]+")
_QUOTED = re.compile(r"'([^'\n]{0,400})'|\"([^\"\n]{0,400})\"|`([^`\n]{0,400})`")
_IDENTIFIER = re.compile(r"[@A-Za-z_$][\w$.@:-]{0,80}(?:/[\w$.@-]{1,60})?")
_PATH = re.compile(
    r"(?<![\w<@])(?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/][\w@.+~-]+){2,40}[\\/]?|(?<![\w<@/])(?:[\w@.+~-]+/){1,40}[\w@.+~-]+\.\w{1,8}\b|(?<![\w<@/])(?:~|\.{1,2})?/[\w.-]+\.\w{1,8}\b"
)
_LINE_AFTER_PATH = re.compile(r"(?<=<path>):\d+(?::\d+)?")
_NUMBER = re.compile(
    r"(?<![A-Za-z_])[+-]?\d+(?:[.,]\d+)*(?:ms|s|kb|KB|MB|GB|%)?\b(?!\w)|(?<=[A-Za-z_])\d{3,}|(?<=_)\d+\b"
)
_SPACE = re.compile(r"\s+")
_ERROR_CODE = re.compile(r"\b(?:E\d{4}|[A-Z]{2,6}\d{3,5}|E[A-Z]{3,})\b")


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    fingerprint: str
    text: str
    normalized: str


def find_errors(output: str, *, failed: bool) -> list[ErrorMessage]:
    """The distinct errors in an output, causes before summaries; for a failure without any, its last line."""
    lines = _split_lines(_ANSI_ESCAPE.sub("", _excerpt_ends(output)))
    matches = list(_iterate_matches(lines))
    if not matches and failed:
        worded = [line for line in lines if _has_words(line)]
        telling = next((line for line in worded if _TELLS_FAILURE.search(line[:_MAX_LINE_CHARACTERS])), "")
        matches = [
            (len(_ERROR_PATTERNS), fingerprint_error(line)) for line in [telling, *worded[-1:]] if line
        ][:1]
    distinct: dict[str, tuple[int, ErrorMessage]] = {}
    for rank, error in matches:
        if error.fingerprint not in distinct:
            distinct[error.fingerprint] = (rank, error)
    ordered = sorted(distinct.values(), key=lambda pair: pair[0] >= _FIRST_SUMMARY_PATTERN)
    return [error for _, error in ordered][:_MAX_ERRORS]


def fingerprint_error(text: str) -> ErrorMessage:
    normal = normalize_error(text)
    digest = hashlib.blake2b(normal.lower().encode(), digest_size=8).hexdigest()
    return ErrorMessage(digest, text.strip()[:_ERROR_CHARACTERS], normal)


def _excerpt_ends(output: str) -> str:
    """The beginning and the end of the output, where errors are."""
    if len(output) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS:
        return output
    return output[:_HEAD_CHARACTERS] + "\n" + output[-_TAIL_CHARACTERS:]


def _split_lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if len(lines) > _HEAD_LINES + _TAIL_LINES:
        lines = lines[:_HEAD_LINES] + lines[-_TAIL_LINES:]
    return lines


def _has_words(line: str) -> bool:
    letters = sum(character.isalpha() for character in line[:_MAX_LINE_CHARACTERS])
    return letters >= _MIN_LETTERS and not _TOOL_FRAME.fullmatch(line.strip())


def _iterate_matches(lines: list[str]) -> Iterator[tuple[int, ErrorMessage]]:
    for index, untrimmed in enumerate(lines):
        line = untrimmed.strip()[:_MAX_LINE_CHARACTERS]
        if not _MAY_BE_ERROR.search(line) or _FOLLOW_UP_ERROR.search(line) or _TOOL_FRAME.fullmatch(line):
            continue
        for rank, pattern in enumerate(_ERROR_PATTERNS):
            if match := pattern.match(line):
                message = match[1]
                if _PANIC_WITHOUT_MESSAGE.search(message) and index + 1 < len(lines):
                    message = f"{_PANIC_PREFIX} {lines[index + 1].strip()[:_MAX_LINE_CHARACTERS]}"
                error = fingerprint_error(match.groupdict().get("reason", message))
                yield rank, replace(error, text=message.strip()[:_ERROR_CHARACTERS])
                break


def normalize_error(text: str) -> str:
    """The part of an error message that is the same in every run."""
    protected: list[str] = []

    def protect_word(match: re.Match[str]) -> str:
        protected.append(match[0])
        return f"\x01{chr(0xE000 + len(protected))}\x01"

    line = text.split("\n", 1)[0].strip()[:_MAX_LINE_CHARACTERS]
    line = _UNKNOWN_COMMAND.sub(lambda match: f"{match[1] or match[2]}: command not found", line)
    line = _ERROR_CODE.sub(protect_word, line)
    for pattern, placeholder in ((_TIME, "<time>"), (_UUID, "<id>"), (_URL, "<address>"), (_HEX, "<hex>")):
        line = pattern.sub(placeholder, line)
    line = _QUOTED.sub(_normalize_quoted, line)
    line = _LINE_AFTER_PATH.sub("", _PATH.sub("<path>", line))
    line = _NUMBER.sub("<n>", line)
    for number, word in enumerate(protected, 1):
        line = line.replace(f"\x01{chr(0xE000 + number)}\x01", word)
    return _SPACE.sub(" ", line).strip(" .")[:_ERROR_CHARACTERS]


def _normalize_quoted(match: re.Match[str]) -> str:
    """A quoted name is what the error is about and stays; other quoted values vary from run to run."""
    value = next((group for group in match.groups() if group is not None), "")
    if _IDENTIFIER.fullmatch(value) and not value.endswith(
        (".py", ".js", ".ts", ".rs", ".go", ".java", ".txt", ".json")
    ):
        return f"'{value}'"
    return "'…'" if value else "''"
