"""What the guard says of a statement, and how it says no."""

import re
from dataclasses import dataclass, field

from commonplace import errors

MOST_REPEATS = 10_000
MOST_SERIES = 1_000_000
_FREE_RELATIONS = 3
# A bounded repetition of a group that holds one: its automaton grows with the product of the bounds.
_NESTED_BOUNDS = re.compile(r"\{[^{}]*\}[^()]*\)+\s*\{")


@dataclass(frozen=True)
class Name:
    """A function, type, operator or relation, as the statement spells it."""

    name: str
    schema: str = ""

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass
class Checked:
    """A statement that may be sent, written anew from its tree, and what the database's catalogue must confirm."""

    sql: str = ""
    wraps: bool = True
    functions: set[Name] = field(default_factory=set)
    called: set[Name] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    types: set[Name] = field(default_factory=set)
    operators: set[Name] = field(default_factory=set)
    relations: set[Name] = field(default_factory=set)


def refuse(what: str, hint: str = "Send one SELECT that only reads.") -> errors.Forbidden:
    return errors.Forbidden(what, hint=hint)


def refuse_function(name: object) -> errors.Forbidden:
    return refuse(
        f"The function {name} is not on the list of functions that only read.",
        "docs/guides/databases.md says which functions are refused and why.",
    )


def refuse_count(amount: int | None, most: int, what: str) -> None:
    """`amount` is None where it depends on rows; the limits of the run hold there."""
    if amount is not None and abs(amount) > most:
        raise refuse(f"{what} of {amount:,} is over {most:,}.", "Ask for less.")


def refuse_product(relations: int, *, filtered: bool) -> None:
    if relations >= _FREE_RELATIONS and not filtered:
        raise refuse(
            f"{relations} relations are multiplied with each other without a condition.",
            "Join them with ON, USING or WHERE.",
        )


def refuse_endless() -> errors.Forbidden:
    return refuse(
        "The recursive query has nothing that ends it.",
        "Give its recursive part a WHERE, or the query a LIMIT.",
    )


def refuse_pattern(pattern: str) -> None:
    if _NESTED_BOUNDS.search(pattern):
        raise refuse("The pattern repeats a repetition ({m,n} inside {m,n}).", "Write a simpler pattern.")
