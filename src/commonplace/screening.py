"""Secrets enter by no argument of a write: they are masked, or refused, before anything looks at them."""

from collections.abc import Mapping
from typing import Any

from commonplace import errors, masking
from commonplace.operation import EVERY, Operation

_SHORTEST = 12


def screened(
    operation: Operation, given: Mapping[str, Any], policy: str
) -> tuple[Mapping[str, Any], list[str]]:
    """The arguments without secrets, and which kinds of those there were."""
    if not operation.writes or operation.verbatim == EVERY:
        return given, []
    kinds: set[str] = set()
    clean = {
        name: value if operation.aliases.get(name, name) in operation.verbatim else _masked(value, kinds)
        for name, value in given.items()
    }
    if kinds and policy == "refuse":
        raise errors.Invalid(
            f"The arguments hold a secret ({', '.join(sorted(kinds))}).",
            hint="Leave it out: what is kept here is read by many.",
        )
    return clean if kinds else given, sorted(kinds)


def _masked(value: Any, kinds: set[str]) -> Any:
    if isinstance(value, str):
        if len(value) < _SHORTEST:
            return value
        found = masking.masked(value)
        kinds.update(found.kinds)
        return found.text
    if isinstance(value, Mapping):
        return {_masked(name, kinds): _masked(each, kinds) for name, each in value.items()}
    return [_masked(each, kinds) for each in value] if isinstance(value, list) else value
