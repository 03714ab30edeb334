"""Validates what an admin wants a guideline to enforce, and explains what is wrong with it.

The schema is small, so that a model can write it from one example; the refusals teach the rest.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import re2

from commonplace import errors
from commonplace.rules.command_pattern import parse_pattern
from commonplace.rules.rule import parse_duration

EXAMPLE = (
    '{"on": "command", "match": {"command": "git push --force|-f"}, "do": "deny",'
    ' "say": "Push without --force.", "reason": "History of main was lost twice."}'
)
_OCCASIONS = ("edit", "command", "commit", "prompt", "stop")
_EFFECTS = ("deny", "ask", "warn", "inject")
_FIELDS = ("on", "match", "unless", "do", "say", "hold", "expires", "reason")
_UNLESS = ("ran", "within", "branch", "role")
_ROLES = ("readonly", "agent", "admin", "owner", "sync")
# What each occasion can be matched by, and what a rule can do there.
_MATCHES = {
    "edit": ("tool", "path", "text"),
    "command": ("tool", "path", "command", "text"),
    "commit": ("path", "text"),
    "prompt": ("text",),
    "stop": ("path",),
}
_DOES = {
    "edit": _EFFECTS,
    "command": _EFFECTS,
    "commit": ("deny", "warn"),
    "prompt": ("warn", "inject"),
    "stop": ("deny", "warn"),
}
_NEED_MATCH = ("edit", "command")
PERSONS_EFFECTS = ("deny", "ask")
"""What only a person, or a key with the role admin or owner, may set."""
_DEFAULT_DAYS = 365
_MAX_TEXTS, _MAX_CHARACTERS, _MAX_SAY_CHARACTERS = 20, 200, 1_000
_MAX_PATTERN_MEMORY = 1 << 20
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?Z?)?")


def validate_enforcement(given: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The enforcement in its one spelling: lists where several are allowed, the end as a time."""
    _refuse_unknown(given, _FIELDS, "enforce")
    on = _read_names(given, "on", _OCCASIONS)
    if not on:
        raise _wrong(
            "enforce has no `on`.", f"Set `on` to one of: {', '.join(_OCCASIONS)}. Example: {EXAMPLE}"
        )
    do = _read_text(given, "do")
    if do not in _EFFECTS:
        raise _wrong(f"enforce.do is {do or 'missing'!r}.", f"Set `do` to one of: {', '.join(_EFFECTS)}.")
    match = _validate_match(_read_object(given, "match"), on, do)
    enforcement = {
        "on": on,
        "match": match,
        "unless": _validate_unless(_read_object(given, "unless")),
        "do": do,
        "say": _read_text(given, "say", _MAX_SAY_CHARACTERS),
        "reason": _read_text(given, "reason", _MAX_SAY_CHARACTERS),
        "hold": _read_flag(given, "hold"),
        "expires": _read_end(_read_text(given, "expires"), now),
    }
    if do in PERSONS_EFFECTS and not enforcement["reason"]:
        raise _wrong(
            f"A rule that does `{do}` has no `reason`.",
            "Say in `reason` why it exists: those it stops read it.",
        )
    return {name: value for name, value in enforcement.items() if value}


def _validate_match(match: Mapping[str, Any], on: list[str], do: str) -> dict[str, Any]:
    _refuse_unknown(match, ("tool", "path", "command", "text"), "enforce.match")
    for occasion in on:
        if do not in _DOES[occasion]:
            raise _wrong(
                f"A rule on `{occasion}` cannot do `{do}`.",
                f"On `{occasion}` it can: {', '.join(_DOES[occasion])}.",
            )
        if unusable := [name for name in match if name not in _MATCHES[occasion]]:
            raise _wrong(
                f"A rule on `{occasion}` cannot match by `{unusable[0]}`.",
                f"On `{occasion}` match by: {', '.join(_MATCHES[occasion])}.",
            )
        if occasion in _NEED_MATCH and not any(match.values()):
            raise _wrong(
                f"A rule on `{occasion}` without `match` would fire for every {occasion}.",
                f"Set `match`, for example {EXAMPLE}",
            )
    commands = _read_texts(match, "command")
    for command in commands:
        _check_command(command)
    return {
        name: value
        for name, value in {
            "tool": _read_texts(match, "tool"),
            "path": [_check_path(path) for path in _read_texts(match, "path")],
            "command": commands,
            "text": _check_pattern(_read_text(match, "text", 1_000)),
        }.items()
        if value
    }


def _validate_unless(unless: Mapping[str, Any]) -> dict[str, Any]:
    _refuse_unknown(unless, _UNLESS, "enforce.unless")
    ran, within = _read_texts(unless, "ran"), _read_text(unless, "within")
    for command in ran:
        _check_command(command)
    if within and (parse_duration(within) is None or not ran):
        raise _wrong(
            f"enforce.unless.within is {within!r}" + ("." if ran else " without `ran`."),
            'Write a number and s, m, h or d beside `ran`: {"ran": "make test", "within": "30m"}.',
        )
    found = {
        "ran": ran,
        "within": within or ("1h" if ran else ""),
        "branch": _read_texts(unless, "branch"),
        "role": _read_names(unless, "role", _ROLES),
    }
    return {name: value for name, value in found.items() if value}


def _check_command(text: str) -> None:
    try:
        parse_pattern(text)
    except ValueError as wrong:
        raise _wrong(
            f"Invalid command pattern: {wrong}.",
            "Write a program, its subcommand and flags: `git push --force|-f`. `|` separates alternatives,"
            " `*` is any text, `...` any words.",
        ) from None


def _check_path(glob: str) -> str:
    if glob.startswith("!") or "\\" in glob or ".." in glob.split("/"):
        raise _wrong(
            f"Invalid path glob {glob!r}.",
            "Write it as in .gitignore, from the root of the repository: `db/*.sql`, `*.lock`, `dist/`, `**/test_*`.",
        )
    return glob


def _check_pattern(text: str) -> str:
    if not text:
        return ""
    options = re2.Options()
    options.max_mem, options.log_errors = _MAX_PATTERN_MEMORY, False
    try:
        re2.compile(text, options)
    except re2.error as wrong:
        raise _wrong(
            f"enforce.match.text is not a valid RE2 pattern: {_explain(wrong)}.",
            "RE2 has no look-around and no back-references: https://github.com/google/re2/wiki/Syntax",
        ) from None
    return text


def _explain(wrong: Exception) -> str:
    reason = wrong.args[0] if wrong.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _read_end(text: str, now: datetime) -> str:
    """`30d`, a date or `never`; in a year if nothing is said."""
    if text == "never":
        return ""
    if not text:
        return _format_time(now + timedelta(days=_DEFAULT_DAYS))
    seconds = parse_duration(text)
    if seconds:
        return _format_time(now + timedelta(seconds=seconds))
    try:
        end = datetime.fromisoformat(text.removesuffix("Z")) if _DATE.fullmatch(text) else None
    except ValueError:
        end = None
    if end is None or end.replace(tzinfo=UTC) <= now:
        raise _wrong(
            f"enforce.expires is {text!r}.",
            "Write a duration (30d), a date in the future (2027-12-31) or never.",
        )
    return _format_time(end)


def _format_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    if unknown := [name for name in given if name not in known]:
        raise _wrong(
            f"{where} has no field '{str(unknown[0])[:80]}'.",
            f"Its fields: {', '.join(known)}. Example: {EXAMPLE}",
        )


def _read_object(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(f"enforce.{name} is not an object.", f"Example: {EXAMPLE}")
    return value


def _read_text(given: Mapping[str, Any], name: str, longest: int = _MAX_CHARACTERS) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > longest:
        raise _wrong(
            f"enforce: `{name}` is not a text of at most {longest} characters.", f"Example: {EXAMPLE}"
        )
    return value.strip()


def _read_texts(given: Mapping[str, Any], name: str) -> list[str]:
    value = given.get(name)
    values = [] if value is None else value if isinstance(value, list) else [value]
    is_valid = all(isinstance(text, str) and text.strip() and len(text) <= _MAX_CHARACTERS for text in values)
    if not is_valid or len(values) > _MAX_TEXTS:
        raise _wrong(
            f"enforce: `{name}` is not a text or a list of at most {_MAX_TEXTS} texts.",
            f"Each has at most {_MAX_CHARACTERS} characters. Example: {EXAMPLE}",
        )
    return [text.strip() for text in values]


def _read_names(given: Mapping[str, Any], name: str, known: tuple[str, ...]) -> list[str]:
    values = _read_texts(given, name)
    if unknown := [value for value in values if value not in known]:
        raise _wrong(f"enforce: unknown `{name}` {unknown[0]!r}.", f"Use: {', '.join(known)}.")
    return list(dict.fromkeys(values))


def _read_flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise _wrong(
            f"enforce: `{name}` is not true or false.",
            f"Set `{name}` to true to decide without a server too.",
        )
    return value


def _wrong(message: str, hint: str) -> errors.Invalid:
    return errors.Invalid(message, hint=hint)
