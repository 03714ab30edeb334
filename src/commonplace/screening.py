"""Secrets enter by no argument of a write: they are masked, or refused, before anything looks at them."""

from collections.abc import Mapping
from typing import Any

from commonplace import errors, masking
from commonplace.operation import ALL_ARGUMENTS, Operation

_MIN_SECRET_CHARACTERS = 12


def screen_arguments(
    operation: Operation, given: Mapping[str, Any], policy: str
) -> tuple[Mapping[str, Any], list[str]]:
    """The arguments without secrets, and which kinds of those there were."""
    if not operation.writes or operation.verbatim == ALL_ARGUMENTS:
        return given, []
    kinds: set[str] = set()
    clean = {
        name: value if operation.aliases.get(name, name) in operation.verbatim else _mask_value(value, kinds)
        for name, value in given.items()
    }
    if kinds and policy == "refuse":
        raise errors.Invalid(
            f"The arguments hold a secret ({', '.join(sorted(kinds))}).",
            hint="Leave it out: what is kept here is read by many.",
        )
    return clean if kinds else given, sorted(kinds)


def _mask_value(value: Any, kinds: set[str]) -> Any:
    if isinstance(value, str):
        if len(value) < _MIN_SECRET_CHARACTERS:
            return value
        found = masking.mask_secrets(value)
        kinds.update(found.kinds)
        return found.text
    if isinstance(value, Mapping):
        return {_mask_value(name, kinds): _mask_value(each, kinds) for name, each in value.items()}
    return [_mask_value(each, kinds) for each in value] if isinstance(value, list) else value
