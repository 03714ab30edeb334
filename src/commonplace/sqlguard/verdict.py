"""The result of checking a statement, and the refusals that all dialects share."""

import re
from dataclasses import dataclass, field

from commonplace import errors

MAX_STRING_REPEATS = 10_000
MAX_SERIES_ROWS = 1_000_000
_MIN_REFUSED_RELATIONS = 3
# A bounded repetition inside a bounded repetition: the automaton grows with the product of the bounds.
_NESTED_REPETITION = re.compile(r"\{[^{}]*\}[^()]*\)+\s*\{")


@dataclass(frozen=True)
class SqlName:
    """A function, type, operator or relation as written in the statement."""

    name: str
    schema: str = ""

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass
class CheckedStatement:
    """A statement that may be sent, generated from its tree, and the names that PostgreSQL's catalog must confirm.

    `can_wrap`: it can be used as a subquery, so that the server truncates long values.
    """

    sql: str = ""
    can_wrap: bool = True
    user_functions: set[SqlName] = field(default_factory=set)
    builtin_functions: set[SqlName] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    types: set[SqlName] = field(default_factory=set)
    operators: set[SqlName] = field(default_factory=set)
    relations: set[SqlName] = field(default_factory=set)
    table_functions: set[str] = field(default_factory=set)
    """SQLite: names called like a function in FROM, which must be tables of full-text search."""


def forbidden_statement(
    what: str, hint: str = "Send one SELECT statement that only reads."
) -> errors.Forbidden:
    return errors.Forbidden(what, hint=hint)


def forbidden_function(name: object) -> errors.Forbidden:
    return forbidden_statement(
        f"The function {name} is not on the list of read-only functions.",
        "Leave it out; docs/guides/databases.md explains which functions are refused and why.",
    )


def require_max_count(amount: int | None, limit: int, what: str) -> None:
    """`amount` is None if it depends on rows; then only the limits at run time apply."""
    if amount is not None and abs(amount) > limit:
        raise forbidden_statement(
            f"{what} of {amount:,} exceeds the limit of {limit:,}.", "Use a smaller number."
        )


def require_join_condition(relations: int, *, filtered: bool) -> None:
    if relations >= _MIN_REFUSED_RELATIONS and not filtered:
        raise forbidden_statement(
            f"{relations} relations are joined without a condition.",
            "Join them with ON, USING or WHERE.",
        )


def endless_recursion() -> errors.Forbidden:
    return forbidden_statement(
        "The recursive query has no end.",
        "Add a WHERE to its recursive part, or a LIMIT to the query.",
    )


def require_bounded_pattern(pattern: str) -> None:
    if _NESTED_REPETITION.search(pattern):
        raise forbidden_statement(
            "The pattern nests repetitions ({m,n} inside {m,n}).", "Write a simpler pattern."
        )
