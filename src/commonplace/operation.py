"""What an operation is, read from its function: the signature is the schema, the docstring the description."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
import pydantic

from commonplace import errors
from commonplace.access import Caller, Least
from commonplace.arguments import refusal, refuse_unstorable, without_nulls

SESSION = Annotated[
    str, pydantic.Field(min_length=1, max_length=200, description="From memory_start_session.")
]


EVERY = ("*",)
Session = bool | Literal["optional"]
_SESSION_FIELD: dict[Session, dict[str, Any]] = {
    True: {"session_id": (SESSION, ...)},
    "optional": {"session_id": (SESSION | None, None)},
    False: {},
}


# Given what runs the call, its checked arguments and its caller.
Prepare = Callable[[Any, Mapping[str, Any], Caller], Awaitable[Any]]


class Reply(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One compact object: what is empty is left out."""


@dataclass(frozen=True)
class Also:
    """Other spellings that callers may use for an argument."""

    names: tuple[str, ...]


def also(*names: str) -> Also:
    return Also(names)


@dataclass(frozen=True)
class Operation:
    name: str
    function: Callable[..., Awaitable[Any]]
    role: Least
    writes: bool
    session: Session
    destroys: bool = False
    idempotent: bool = False
    example: Mapping[str, Any] = field(default_factory=dict)
    prepare: Prepare | None = None
    audited: bool = False
    outside: Callable[[Any], Awaitable[Any]] | None = None
    verbatim: tuple[str, ...] = ()

    @property
    def recorded(self) -> bool:
        """Does a call leave a row in the audit? Every write does, and a read that says so."""
        return self.writes or self.audited

    @cached_property
    def description(self) -> str:
        return inspect.cleandoc(self.function.__doc__ or "")

    @cached_property
    def _hints(self) -> dict[str, Any]:
        hints = get_type_hints(self.function, include_extras=True)
        return {name: hints[name] for name in list(inspect.signature(self.function).parameters)[1:]}

    @cached_property
    def arguments(self) -> type[pydantic.BaseModel]:
        defaults = inspect.signature(self.function).parameters
        fields = dict(_SESSION_FIELD[self.session])
        for name, hint in self._hints.items():
            default = defaults[name].default
            fields[name] = (hint, ... if default is inspect.Parameter.empty else default)
        return pydantic.create_model(self.name, __config__=pydantic.ConfigDict(extra="forbid"), **fields)

    @cached_property
    def aliases(self) -> dict[str, str]:
        found = (
            (name, mark) for name, hint in self._hints.items() for mark in getattr(hint, "__metadata__", ())
        )
        return {other: name for name, mark in found if isinstance(mark, Also) for other in mark.names}

    @property
    def takes_project(self) -> bool:
        return "project" in self._hints

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check the arguments against the function's own types; refuse in words that help."""
        spelled = self._in_first_spelling(given)
        refuse_unstorable(given)
        try:
            checked = self.arguments.model_validate(without_nulls(spelled, self.arguments.model_fields))
        except pydantic.ValidationError as wrong:
            raise refusal(wrong, list(self.arguments.model_fields)) from None
        return {name: getattr(checked, name) for name in self.arguments.model_fields}

    def _in_first_spelling(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.aliases.keys() & given.keys():
            return given
        spelled: dict[str, Any] = {}
        for name, value in given.items():
            first = self.aliases.get(name, name)
            if first in spelled:
                raise errors.Invalid(f"'{name}' and '{first}' are the same argument.", hint="Give it once.")
            spelled[first] = value
        return spelled


def operation(
    name: str,
    *,
    role: Least = "agent",
    writes: bool = False,
    session: Session = True,
    destroys: bool = False,
    idempotent: bool = False,
    example: Mapping[str, Any] | None = None,
    prepare: Prepare | None = None,
    audited: bool = False,
    outside: Callable[[Any], Awaitable[Any]] | None = None,
    verbatim: tuple[str, ...] = (),
) -> Callable[[Callable[..., Awaitable[Any]]], Operation]:
    """Wrap a function as an operation; nothing is registered, the catalogue lists it.

    `prepare` is what takes long or waits: it runs before the transaction and its answer is `call.prepared`.
    `outside` is what may wait for others: it runs after the commit, on what the function returned, and gives the reply.
    `verbatim` names arguments that are not searched for secrets, because they are keys or the room does it itself.
    """
    return lambda function: Operation(
        name,
        function,
        role,
        writes,
        session,
        destroys,
        idempotent or not writes,
        example or {},
        prepare,
        audited,
        outside,
        verbatim,
    )


@dataclass(frozen=True)
class Family:
    """One tool whose `action` picks one of several operations, each with its own arguments and role."""

    name: str
    description: str
    actions: Mapping[str, Operation]

    @cached_property
    def _arguments(self) -> frozenset[str]:
        return frozenset(name for act in self.actions.values() for name in act.arguments.model_fields)

    def pick(self, given: Mapping[str, Any]) -> tuple[Operation, dict[str, Any]]:
        rest = dict(given)
        action = rest.pop("action", None)
        if not isinstance(action, str) or action not in self.actions:
            raise errors.Invalid(
                f"action is one of: {', '.join(self.actions)}.", hint="Say which act you want."
            )
        chosen = self.actions[action]
        elsewhere = self._arguments - chosen.arguments.model_fields.keys()
        return chosen, {
            name: value for name, value in rest.items() if value is not None or name not in elsewhere
        }


Tool = Operation | Family
