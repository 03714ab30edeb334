"""Finds values that are given to a name which says that they are secret: `DB_PASSWORD=x`, `"token": "x"`, `--api-key x`.

The text may be plain or the inside of a JSON string, where a quote is `\\"` and a line ends with `\\n`; lines may have
numbers, diff marks or a log's prefix before them. Which names are meant: `secret_names.py`. Whether a
value is a secret: `placeholders.py`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import re2

from commonplace.masking.placeholders import is_login_in_base64, looks_random, stands_for_a_secret
from commonplace.masking.secret_names import Strength, classify_name

_WORD = r"(?:passw(?:or)?d|passphrase|passcode|pass|pwd|secret|token|key|credentials?|auth|sig)"
_SUFFIX = (
    r"(?:[_.\-]?(?:base|data|value|string|b64|base64|prod|production|staging|live|dev|old|new|ref|\d{1,2}))?"
)
_QUOTE = r"\\{0,7}[\"'`]"
_NEWLINE = r"(?:\n|\\{1,4}n)"
_BEFORE_VALUE = (
    r"(?:(?:[ \t]{0,12}|\\{1,4}t)(?::=|=>|:|(?<![=!<>])=(?![=~>]))(?:[ \t]{0,12}|\\{1,4}t)(?:!!str )?)"  # name: value
    rf"|(?:,\s{{0,3}}(?={_QUOTE}))"  # setenv("NAME", "value")
    rf"|(?:\s?\(\s?(?={_QUOTE}))"  # setPassword("value")
    rf"|(?:\s{{1,4}}value=(?={_QUOTE}))"  # <add key="NAME" value="value">
    r"|(?:\s?\{\s?default\s?=\s?)"  # variable "name" { default = "value" }
    rf"|(?:{_NEWLINE}[^\n\\]{{0,40}}\bvalue(?:{_QUOTE})?:\s?)"  # name: NAME, value: value
    r"|(?:>)(?=[^<\s]{1,200}</)"  # <password>value</password>
    r"|(?:[ \t]{1,4})"  # --password value
)
_ASSIGNMENT = re.compile(
    rf"(?i){_WORD}{_SUFFIX}(?P<close>(?:{_QUOTE})?[\])]?)(?P<sign>{_BEFORE_VALUE})(?P<open>{_QUOTE})?"
)
SIGN = (
    rf"(?i:{_WORD}{_SUFFIX}[\\\"'`\])]{{0,9}}(?:[ \t]{{0,12}}|\\\\t)(?:[:=(>,{{]|value=|\n|\\\\n))"
    rf"|(?i:{_WORD}{_SUFFIX}[\\\"'`\])]{{0,9}}[ \t]{{1,4}}(?:[\"'`\\]|[^\s\"'`]{{20}}))"
    rf"|(?i:-[a-z-]{{0,12}}{_WORD}{_SUFFIX}[ \t])"
    rf"|(?:ENV|ARG|setx|setenv|set -[a-z]{{0,3}}x)[ \t]+[A-Z0-9_]{{0,60}}(?:KEY|TOKEN|SECRET|PASS|PWD|PASSWD|PASSWORD)[ \t]"
)
"""Where an assignment may stand, for RE2: the slower pattern is tried there only."""

_NAME_CHARACTERS = 64
_LINE_CHARACTERS = 240
_VALUE_CHARACTERS = 4096
_MIN_SETTING_CHARACTERS = 4
_MIN_CHARACTERS = 6
_MIN_PHRASE_CHARACTERS = 12
_SURE_CHARACTERS = 20
"""A value of this length that looks random is a secret wherever it stands."""

_END_OF_LINE = re.compile(r"\n|\\{1,4}[nr]")
_UNQUOTED = re.compile(r"[^\s\"'`\\<>]{1,4096}")
_SHELL_BEFORE = re.compile(
    r"(?:^|[\s;&|\"'`(→>+\-])(?:export|set|env|ENV|ARG|-e|--env|declare|local|readonly|-x|-gx)\s+$"
)
_SETS_NEXT_WORD = re.compile(r"(?:^|[\s;&|\"'`(→>+\-])(?:ENV|ARG|setx|setenv|set -\w*x)\s+$")
_LINE_PREFIX = re.compile(
    r"^\s*(?:\d{1,6}\s{0,3}(?:→|\\u2192|\t|\\t|:|\||│)\s*)?(?:[\w./-]{1,120}[:-]\d{1,6}[:-]\s*)?"
    r"(?:[+\-><|#*]\s?){0,3}\s*(?:[\"'`{]\s?)?$"
)
_FIRST_ARGUMENT = re.compile(r"\w\(\s?\\{0,7}[\"']$")
_NAMES_A_PASSWORD = re.compile(r"(?i)passw(?:or)?d\s{1,4}\\{0,7}[\"']$")
_CONNECTION_WORDS = re.compile(
    r"(?i)\b(?:host|server|dbname|database|user|username|user id|data source|sslmode|port)\s?="
)
_NEXT_PARAMETER = re.compile(r"&[\w.-]{1,40}=")


@dataclass(frozen=True, slots=True)
class AssignedSecret:
    start: int
    end: int
    kind: str


def find_assigned_secrets(text: str) -> Iterator[AssignedSecret]:
    """The values in the text that are secrets because of their names, in order and without overlaps."""
    end = 0
    for candidate in _find_candidates(text):
        match = _ASSIGNMENT.search(text, candidate, candidate + _NAME_CHARACTERS + _LINE_CHARACTERS)
        if match is None or match.start() < end:
            continue
        secret = _read_secret(text, match)
        if secret is not None:
            end = secret.end
            yield secret


def _find_candidates(text: str) -> Iterator[int]:
    """Where to look, by one pass of RE2 over the bytes of the text."""
    encoded = text.encode("utf-8", "surrogatepass")
    is_ascii, position, last = len(encoded) == len(text), 0, 0
    for match in _compile_candidates().finditer(encoded):
        start = match.start()
        position = start if is_ascii else position + len(encoded[last:start].decode("utf-8", "surrogatepass"))
        last = start
        yield position


@cache
def _compile_candidates() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(SIGN.encode(), options)


def _read_secret(text: str, match: re.Match[str]) -> AssignedSecret | None:
    name_start = _find_name_start(text, match.start())
    name = text[name_start : match.start("close")]
    strength = classify_name(name, text[max(0, name_start - 9) : name_start])
    if strength is None:
        return None
    assignment = Assignment(text, match, name_start, name, strength)
    length = assignment.measure_value()
    value = text[match.end() : match.end() + length]
    if not _is_secret(value, strength, is_setting=not match["open"]):
        return None
    return AssignedSecret(
        match.end(), match.end() + length, "password" if strength == "password" else "secret"
    )


def _find_name_start(text: str, at: int) -> int:
    """Where the identifier begins that ends at this word."""
    start = at
    while start > max(0, at - _NAME_CHARACTERS) and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
        start -= 1
    if start and text[start - 1] == "\\" and text[start] in "nrt" and start < at:
        start += 1  # the letter belongs to an escape
    while start < at and text[start] in ".-":
        start += 1
    return start


def _is_secret(value: str, strength: Strength, *, is_setting: bool) -> bool:
    if len(value) < (_MIN_SETTING_CHARACTERS if is_setting else _MIN_CHARACTERS) or stands_for_a_secret(
        value
    ):
        return False
    if strength == "login":
        return is_login_in_base64(value)
    return strength == "password" or looks_random(value) or _is_phrase(value)


def _is_phrase(value: str) -> bool:
    """A secret of small letters only; a name in code that is as long has capitals or separators."""
    return value.isalpha() and value.islower() and len(value) >= _MIN_PHRASE_CHARACTERS


@dataclass(frozen=True)
class Assignment:
    """A name that promises a secret, and the text around it. `measure_value` tells how long its value is, or 0."""

    text: str
    match: re.Match[str]
    name_start: int
    name: str
    strength: Strength

    @property
    def sign(self) -> str:
        """What stands between name and value, such as ` = `."""
        sign: str = self.match["sign"]
        return sign

    @cached_property
    def line_before(self) -> str:
        """What stands before the name on its line."""
        before = self.text[max(0, self.name_start - _LINE_CHARACTERS) : self.name_start]
        return _END_OF_LINE.split(before)[-1]

    @cached_property
    def word(self) -> str:
        """The value up to a space or a quote."""
        match = _UNQUOTED.match(self.text, self.match.end())
        return match[0] if match else ""

    def measure_value(self) -> int:
        if self.match["open"]:
            return self._measure_quoted()
        if not self.word or self.sign == ":":
            return 0
        if self.sign == ">":
            return len(self.word)
        if self.sign.isspace():
            return self._measure_option()
        if "=" in self.sign and (length := self._measure_parameter()):
            return length
        return self._measure_setting()

    def _measure_quoted(self) -> int:
        start, quote = self.match.end(), self.match["open"]
        end = self.text.find(quote, start, start + _VALUE_CHARACTERS)
        value = self.text[start : max(end, start)]
        is_nested = len(quote) > 1 and value.endswith("\\") and not value.endswith("\\\\")
        if is_nested or any(mark.isspace() for mark in value):
            return 0
        if self.sign.startswith(",") and not _FIRST_ARGUMENT.search(self.line_before):
            return 0
        if self.sign.isspace() and not self._is_option() and not _NAMES_A_PASSWORD.search(self.match[0]):
            return 0
        return len(value)

    def _measure_parameter(self) -> int:
        """A parameter of an address or a form ends at `&`, a part of a connection string at `;`."""
        if self.line_before.endswith(("?", "&")) or _NEXT_PARAMETER.search(self.word):
            return len(self.word.partition("&")[0])
        is_part = ";" in self.line_before and "=" in self.line_before
        if is_part or (";" in self.word and _CONNECTION_WORDS.search(self.line_before)):
            return len(self.word.partition(";")[0])
        return 0

    def _measure_option(self) -> int:
        """`--password value`, `ENV API_KEY value`; otherwise only what is random beyond doubt."""
        if self._is_option():
            return 0 if self.word.startswith("-") else len(self.word)
        if _SETS_NEXT_WORD.search(self.line_before) and self.name.isupper():
            return len(self.word)
        core = self.word.rstrip(".,;")
        is_sure = len(core) >= _SURE_CHARACTERS and looks_random(core) and not set(core[:-2]) & set("(=")
        return len(core) if is_sure else 0

    def _is_option(self) -> bool:
        """Whether the name is that of an option such as `--password`, or `-storepass`."""
        return self.line_before.endswith("-") and (
            self.line_before.endswith(" -") or "--" in self.line_before[-40:]
        )

    def _measure_setting(self) -> int:
        """A value in a settings file, a shell or a log. Code assigns names and calls, so it is judged harder."""
        if self.sign == "=" and self._is_tight_setting():
            return len(self.word)
        if ":" in self.sign and self._is_whole_line() and self._ends_line():
            return len(self.word)
        core = self.word.rstrip(".,;)}]")
        is_sure = looks_random(core) and any(mark.isdigit() for mark in core) and not self._is_argument()
        return len(core) if is_sure and not stands_for_a_secret(self.word) else 0

    def _is_tight_setting(self) -> bool:
        """`NAME=value` in a file, a shell or a log, and not `f(name=value)`."""
        if self.name.isupper() or self._is_whole_line() or self.line_before.endswith(("-D", "--", "/:", ".")):
            return not self.word.endswith(")")
        return not self._is_argument() and (self.strength == "password" or looks_random(self.word))

    def _is_whole_line(self) -> bool:
        """Whether the name begins its line, but for numbers, marks and words of a shell."""
        return bool(_LINE_PREFIX.match(self.line_before) or _SHELL_BEFORE.search(self.line_before))

    def _ends_line(self) -> bool:
        end = self.match.end() + len(self.word)
        rest = _END_OF_LINE.split(self.text[end : end + 80])[0]
        is_last = not rest.strip(" \t\"'`}\\") or rest.lstrip().startswith("#")
        return is_last and not self.word.endswith((",", ";", "(", "{", "["))

    def _is_argument(self) -> bool:
        """An argument of a call, `f(password=secret)`."""
        return self.line_before.count("(") > self.line_before.count(")") and self.word.endswith(
            (")", ",", "):", ");")
        )
