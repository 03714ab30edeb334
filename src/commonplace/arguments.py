"""Checks of arguments that hold for every operation, refusals that say how to correct them, and shared argument types."""

import difflib
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pydantic
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from commonplace import errors, masking
from commonplace.access import ALL_PROJECTS, MAX_SPELLING_CHARACTERS

_MAX_JSON_DEPTH = 64
MAX_INTEGER = 2**63 - 1
_MAX_TIME_CHARACTERS = 64
_LONG_TEXT_CHARACTERS = 50_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class InvalidValue(ValueError):
    """A value that its argument does not accept; the hint says how to correct it."""

    def __init__(self, wrong: str, hint: str) -> None:
        super().__init__(wrong)
        self.hint = hint


def _parse_time(at: Any) -> Any:
    try:
        if not isinstance(at, str) or len(at) > _MAX_TIME_CHARACTERS:
            raise ValueError  # noqa: TRY301 - refused below, as is text that is no time
        given = datetime.fromisoformat(at)
    except ValueError:
        raise InvalidValue(
            "is not a valid time", "Pass a time in ISO 8601, such as 2026-01-15T08:00:00Z"
        ) from None
    aware = given if given.tzinfo else given.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


TimeArgument = Annotated[
    int,
    pydantic.BeforeValidator(_parse_time, json_schema_input_type=str),
    pydantic.Field(json_schema_extra={"type": "string", "maxLength": _MAX_TIME_CHARACTERS}),
]
"""A time as ISO 8601 text; UTC if it has no zone. The operation gets microseconds."""


ProjectSpelling = Annotated[str, pydantic.Field(max_length=MAX_SPELLING_CHARACTERS)]


class AllProjects:
    """Every project that the caller may see; callers write `*`."""


ProjectOrAll = Annotated[
    ProjectSpelling,
    pydantic.AfterValidator(lambda project: AllProjects() if project == ALL_PROJECTS else project),
]
"""A project name before it is normalized (`access.normalize_project_name`)."""

VersionNumber = Annotated[int, pydantic.Field(ge=1, le=MAX_INTEGER)]

AgentName = Annotated[str, pydantic.Field(min_length=1, max_length=64, pattern=r"^\w[\w.@:+-]*$")]


class SecretMask(msgspec.Struct):
    """Masks the secrets in the arguments of one call, and remembers their kinds; the policy `refuse` refuses them."""

    policy: str = "mask"
    kinds: set[str] = set()

    @property
    def notices(self) -> list[str]:
        return [f"Secrets were masked before storing: {', '.join(sorted(self.kinds))}."]

    def mask_arguments(self, arguments: Mapping[str, Any], verbatim: Collection[str]) -> dict[str, Any]:
        clean, kinds = masking.mask_arguments(arguments, verbatim)
        if kinds and self.policy == "refuse":
            raise errors.Invalid(
                f"The arguments contain a secret ({', '.join(kinds)}).",
                hint="Remove it: what is stored here is read by others.",
            )
        self.kinds.update(kinds)
        return clean


def require_storable(value: Any) -> None:
    """Refuse NUL characters, which PostgreSQL cannot store, and lone surrogates, which no store can."""
    if isinstance(value, str):
        if "\0" in value or (not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)):
            raise errors.Invalid(
                "A text contains a NUL or an unpaired surrogate.", hint="Send valid UTF-8 text without NUL."
            )
    elif isinstance(value, dict | Mapping):  # asking for a dict is quick
        for name, each in value.items():
            require_storable(name)
            require_storable(each)
    elif isinstance(value, list):
        for each in value:
            require_storable(each)


def drop_nulls(given: Mapping[str, Any], fields: Mapping[str, FieldInfo]) -> dict[str, Any]:
    """Null for an optional argument means that it is left out."""
    return {
        name: value
        for name, value in given.items()
        if value is not None or name not in fields or fields[name].is_required()
    }


def decode_json_lists(arguments: Mapping[str, Any], list_arguments: Collection[str]) -> dict[str, Any]:
    """Read a list that was passed as JSON text, as many models do; an argument that accepts text keeps it."""
    return {
        name: _decode_list(value) if name in list_arguments and _may_be_list(value) else value
        for name, value in arguments.items()
    }


def _may_be_list(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip()[:1] == "["


def _decode_list(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    return value if isinstance(value, list) and not _is_too_deep(value) else text


def _is_too_deep(value: Any) -> bool:
    """Is the value nested deeper than the body of a request may be?"""
    level = [value]
    for _ in range(_MAX_JSON_DEPTH + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def is_list_type(annotation: Any) -> bool:
    """Whether a type is a list, apart from null and from what annotates it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return is_list_type(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return all(is_list_type(choice) for choice in get_args(annotation) if choice is not NoneType)
    return origin is list


def refusal_from_validation_error(
    wrong: pydantic.ValidationError, fields: Mapping[str, FieldInfo]
) -> errors.Refusal:
    problems = wrong.errors(include_url=False)
    strange = [str(problem["loc"][0]) for problem in problems if problem["type"] == "extra_forbidden"]
    if strange:
        near = difflib.get_close_matches(strange[0], fields, n=1, cutoff=0.5)
        meant = f"Did you mean '{near[0]}'? " if near else ""
        return errors.UnknownArgument(
            f"Unknown argument '{strange[0]}'.", hint=f"{meant}Known: {', '.join(fields) or 'none'}."
        )
    if all(_is_long_text(problem) for problem in problems):
        limit = problems[0]["ctx"]["max_length"]
        return errors.TooLarge(
            f"{problems[0]['loc'][0]} has more than {limit} characters.", hint="Split or shorten it."
        )
    told = [
        _describe_problem(problem, fields, ".".join(map(str, problem["loc"])) or "arguments")
        for problem in problems[:5]
    ]
    hints = dict.fromkeys(hint.rstrip(".") for _, hint in told)
    return errors.Invalid("; ".join(wrong for wrong, _ in told) + ".", hint=". ".join(hints) + ".")


def _is_long_text(problem: ErrorDetails) -> bool:
    """Whether a document is too long, rather than a name."""
    return (
        problem["type"] in ("string_too_long", "bytes_too_long")
        and problem["ctx"]["max_length"] >= _LONG_TEXT_CHARACTERS
    )


def _describe_problem(problem: ErrorDetails, fields: Mapping[str, FieldInfo], name: str) -> tuple[str, str]:
    """The problem with this argument, and how to correct it."""
    context = problem.get("ctx", {})
    correct = f"Correct {name} and call again"
    match problem["type"]:
        case "value_error":
            return f"{name}: {context['error']}", getattr(context["error"], "hint", correct)
        case "missing":
            help_text = fields[name].description if name in fields else None
            return f"Missing `{name}`", f"Pass {name}" + (f": {help_text}" if help_text else "")
        case "string_pattern_mismatch":
            return f"Invalid {name}", f"{name} must match {context['pattern']}"
    return f"{name}: {problem['msg']}", correct
