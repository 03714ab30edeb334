"""What is wrong with the arguments of a call, in words that an agent can act on; and times as arguments."""

import difflib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import pydantic

from commonplace import errors

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _microseconds(at: Any) -> Any:
    if not isinstance(at, str):
        return at
    given = datetime.fromisoformat(at)
    aware = given if given.tzinfo else given.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


Moment = Annotated[
    int,
    pydantic.BeforeValidator(_microseconds, json_schema_input_type=str),
    pydantic.Field(json_schema_extra={"type": "string"}),
]
"""A time as text, ISO-8601; without a zone it is UTC. In microseconds."""


def refuse_unstorable(value: Any) -> None:
    """PostgreSQL stores no NUL and nothing stores half a character, so no store is offered one."""
    if isinstance(value, str):
        if "\0" in value or (not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)):
            raise errors.Invalid("A text holds a NUL or half a character.", hint="Send plain UTF-8 text.")
    elif isinstance(value, Mapping):
        for name, each in value.items():
            refuse_unstorable(name)
            refuse_unstorable(each)
    elif isinstance(value, list):
        for each in value:
            refuse_unstorable(each)


def refusal(wrong: pydantic.ValidationError, known: list[str]) -> errors.Invalid:
    problems = wrong.errors(include_url=False, include_context=False)
    strange = [str(problem["loc"][0]) for problem in problems if problem["type"] == "extra_forbidden"]
    if strange:
        near = difflib.get_close_matches(strange[0], known, n=1, cutoff=0.5)
        meant = f"Did you mean '{near[0]}'? " if near else ""
        return errors.UnknownArgument(
            f"There is no argument '{strange[0]}'.", hint=f"{meant}Known: {', '.join(known) or 'none'}."
        )
    parts = [
        "{}: {}".format(".".join(map(str, each["loc"])) or "arguments", each["msg"]) for each in problems[:5]
    ]
    return errors.Invalid("; ".join(parts) + ".", hint="Correct these arguments and call again.")
