"""What an operation is, read from its function: the signature is the schema, the docstring is the description.

`@operation(...)` wraps a typed async function and registers nothing; a room lists its operations in its `Room`.
`call.py` runs them.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
import pydantic

from commonplace import errors
from commonplace.access import Caller, RequiredRole
from commonplace.arguments import (
    ProjectSpelling,
    SecretMask,
    decode_json_lists,
    drop_nulls,
    is_list_type,
    refusal_from_validation_error,
    require_storable,
)
from commonplace.identity.session import SessionQuery

SESSION = Annotated[str, pydantic.Field(min_length=1, max_length=200)]


ALL_ARGUMENTS = ("*",)
SessionRequirement = bool | Literal["optional", "own"]
"""True: the call needs to know who acts. `own`: `session_id` may mean something else, so the argument is another."""

_SESSION_ARGUMENTS: dict[SessionRequirement, str] = {
    True: "session_id",
    "optional": "session_id",
    "own": "agent_session",
}
SESSION_ARGUMENTS = frozenset(_SESSION_ARGUMENTS.values())

_DEFAULT_ACTION = "list"

# Called with the `Calls` that run the operation, its validated arguments and the caller.
Prepare = Callable[[Any, Mapping[str, Any], Caller], Awaitable[Any]]


class Reply(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The reply of an operation; fields that have their default value are left out of the JSON."""


@dataclass(frozen=True)
class ArgumentAliases:
    """Other names that callers may use for an argument."""

    names: tuple[str, ...]


def alias(*names: str) -> ArgumentAliases:
    return ArgumentAliases(names)


@dataclass(frozen=True, eq=False)
class Operation:
    name: str
    function: Callable[..., Awaitable[Any]]
    role: RequiredRole
    writes: bool
    session: SessionRequirement
    destroys: bool = False
    idempotent: bool = False
    example: Mapping[str, Any] = field(default_factory=dict)
    prepare: Prepare | None = None
    audited: bool = False
    after_commit: Callable[[Any], Awaitable[Any]] | None = None
    verbatim: tuple[str, ...] = ()
    session_columns: str = ""
    structured: bool = False
    """Whether MCP clients read the reply as `structuredContent` too."""
    leaves_notices: bool = False
    reads_when_bare: bool = False
    keywords: str = ""
    """Words by which a model may look for it, shown in tools/list only."""
    runs_another: bool = False
    """Whether its arguments are the `name` and `arguments` of the call that runs in its place."""

    @cached_property
    def is_recorded(self) -> bool:
        """Does a call leave an audit row? Every write does, and every read that is declared `audited`."""
        return self.writes or self.audited

    @cached_property
    def session_query(self) -> SessionQuery:
        return SessionQuery(self.session_columns)

    @cached_property
    def description(self) -> str:
        return inspect.cleandoc(self.function.__doc__ or "")

    @cached_property
    def _argument_types(self) -> dict[str, Any]:
        hints = get_type_hints(self.function, include_extras=True)
        return {name: hints[name] for name in list(inspect.signature(self.function).parameters)[1:]}

    @cached_property
    def argument_model(self) -> type[pydantic.BaseModel]:
        defaults = inspect.signature(self.function).parameters
        fields: dict[str, Any] = (
            {self.session_argument: (SESSION | None, None)} if self.session_argument else {}
        )
        for name, hint in self._argument_types.items():
            if name == "project" and hint in (str, str | None):
                hint = ProjectSpelling if hint is str else ProjectSpelling | None  # noqa: PLW2901
            default = defaults[name].default
            fields[name] = (hint, ... if default is inspect.Parameter.empty else default)
        return pydantic.create_model(self.name, __config__=pydantic.ConfigDict(extra="forbid"), **fields)

    @cached_property
    def _validator(self) -> Any:
        return self.argument_model.__pydantic_validator__

    @cached_property
    def _list_arguments(self) -> frozenset[str]:
        fields = self.argument_model.model_fields
        return frozenset(name for name, field in fields.items() if is_list_type(field.annotation))

    @cached_property
    def aliases(self) -> dict[str, str]:
        found = (
            (name, mark)
            for name, hint in self._argument_types.items()
            for mark in getattr(hint, "__metadata__", ())
        )
        aliases = {
            other: name for name, mark in found if isinstance(mark, ArgumentAliases) for other in mark.names
        }
        if self.session == "own" and "session_id" not in self._argument_types:
            aliases["session_id"] = self.session_argument
        return aliases

    def prepare_arguments(self) -> None:
        """Build the cached values that `parse_arguments` needs, which takes some milliseconds."""
        _ = self._validator, self._list_arguments, self.aliases

    @cached_property
    def session_argument(self) -> str:
        """The argument that names the caller's own session; empty where there is none."""
        return _SESSION_ARGUMENTS.get(self.session, "")

    @cached_property
    def takes_project(self) -> bool:
        return "project" in self._argument_types

    def takes_argument(self, name: str) -> bool:
        return name in self.argument_model.model_fields or name in self.aliases

    def parse_arguments(self, given: Mapping[str, Any], mask: SecretMask) -> dict[str, Any]:
        """Validate the arguments against the function's own types; those of a write lose their secrets.

        Secrets are masked after lists given as JSON text are decoded: JSON escapes could hide one.
        """
        spelled = given if self.session_argument else self._drop_unused_session(given)
        if not self.aliases.keys().isdisjoint(spelled):
            spelled = self._resolve_aliases(spelled)
        if not self._list_arguments.isdisjoint(spelled):
            spelled = decode_json_lists(spelled, self._list_arguments)
        if self.writes and self.verbatim != ALL_ARGUMENTS:
            # The session is looked up by its digest and never stored as given.
            spelled = mask.mask_arguments(spelled, (*self.verbatim, self.session_argument))
        require_storable(spelled)
        if None in spelled.values():
            spelled = drop_nulls(spelled, self.argument_model.model_fields)
        try:
            checked = self._validator.validate_python(spelled)
        except pydantic.ValidationError as wrong:
            raise refusal_from_validation_error(wrong, self.argument_model.model_fields) from None
        arguments: dict[str, Any] = vars(checked)
        return arguments

    def _drop_unused_session(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Hooks and models name their session in every call, also where none is needed."""
        unused = SESSION_ARGUMENTS - self._argument_types.keys()
        return {name: value for name, value in given.items() if name not in unused}

    def _resolve_aliases(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        spelled: dict[str, Any] = {}
        for name, value in given.items():
            first = self.aliases.get(name, name)
            if first in spelled:
                raise errors.Invalid(
                    f"'{name}' and '{first}' are the same argument.", hint=f"Pass only '{first}'."
                )
            spelled[first] = value
        return spelled


def operation(
    name: str,
    *,
    role: RequiredRole = "agent",
    writes: bool = False,
    session: SessionRequirement = True,
    destroys: bool = False,
    idempotent: bool = False,
    example: Mapping[str, Any] | None = None,
    prepare: Prepare | None = None,
    audited: bool = False,
    after_commit: Callable[[Any], Awaitable[Any]] | None = None,
    verbatim: tuple[str, ...] = (),
    session_columns: str = "",
    structured: bool = False,
    leaves_notices: bool = False,
    reads_when_bare: bool = False,
    keywords: str = "",
    runs_another: bool = False,
) -> Callable[[Callable[..., Awaitable[Any]]], Operation]:
    """Wrap a function as an operation; nothing is registered, the catalogue lists it.

    `leaves_notices`: nobody reads its answer but another call of the same session, which takes the notices.
    `reads_when_bare`: a call without arguments is tried as a read, which raises `MustWrite` if it has something to record.
    `prepare` runs before the transaction and may take long or wait; its result is `call.prepared`.
    `after_commit` runs after the commit and may wait; it turns what the function returned into the reply.
    `session_columns` are read with the row of the session, which is `call.session_row`; they may be subqueries, with its
    project as `$1` and its digest as `$2`. `verbatim` names the arguments that are not searched for secrets: keys, and texts that the room masks itself.
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
        after_commit,
        verbatim,
        session_columns,
        structured,
        leaves_notices,
        reads_when_bare,
        keywords,
        runs_another,
    )


@dataclass(frozen=True, eq=False)
class OperationFamily:
    """One tool whose `action` selects one of several operations, each with its own arguments and role."""

    name: str
    description: str
    actions: Mapping[str, Operation]
    keywords: str = ""

    @cached_property
    def _argument_names(self) -> frozenset[str]:
        return frozenset(name for act in self.actions.values() for name in act.argument_model.model_fields)

    def _is_listing(self, given: Mapping[str, Any]) -> bool:
        """Without `action` a call lists, unless it has arguments that a listing does not take."""
        listing = self.actions.get(_DEFAULT_ACTION)
        return listing is not None and all(map(listing.takes_argument, given))

    def pick_operation(self, given: Mapping[str, Any]) -> tuple[Operation, dict[str, Any]]:
        rest = dict(given)
        action = rest.pop("action", None)
        if action is None and self._is_listing(rest):
            action = _DEFAULT_ACTION
        if not isinstance(action, str) or action not in self.actions:
            raise errors.Invalid(
                f"Unknown action '{action}'." if action else "Missing `action`.",
                hint=f"Set `action` to one of: {', '.join(self.actions)}.",
            )
        chosen = self.actions[action]
        elsewhere = self._argument_names - chosen.argument_model.model_fields.keys()
        return chosen, {
            name: value for name, value in rest.items() if value is not None or name not in elsewhere
        }


Tool = Operation | OperationFamily
