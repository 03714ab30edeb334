"""What the guard and the engines know of a SQL dialect (`SqlDialect`), and what a check of a statement finds."""

import contextlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from commonplace import errors
from commonplace.sqlguard.query_rows import QueryRows, QueryTarget, load_package

MAX_STRING_REPEATS = 10_000
MAX_SERIES_ROWS = 1_000_000
MAX_VIEW_DEPTH = 8
_MAX_DEFINITION_CHARACTERS = 100_000
_MAX_DIGITS = 30
_MIN_REFUSED_RELATIONS = 3
# A bounded repetition inside a bounded repetition: the automaton grows with the product of the bounds.
_NESTED_REPETITION = re.compile(r"\{[^{}]*\}[^()]*\)+\s*\{")
NO_NAME = re.compile(r"(?!)")


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


@dataclass(frozen=True, eq=False, kw_only=True)
class SqlDialect:
    """Every fact of one dialect. `names/<name>.txt` lists its functions that only read; every other one is refused."""

    name: str
    synonyms: tuple[str, ...]
    default_port: int = 0
    check: Callable[["SqlDialect", str], CheckedStatement]
    """Parse one statement and check it against allow lists; its own parser or `check_with_sqlglot`."""
    run_query: Callable[[QueryTarget, CheckedStatement, int, Sequence[Any]], Awaitable[QueryRows]]
    """Run a statement with parameters and read at most so many rows. The first query imports the driver."""
    list_excess_rights: Callable[[QueryTarget], Awaitable[list[str]]]
    """What the login may do besides reading."""
    select_tables: str
    """Returns schema, name, kind."""
    select_columns: str
    """Takes schema and table; returns name, type, nullable, default, key."""
    executable_comment: re.Pattern[str] = NO_NAME

    # The rest is for `sqlglot_check`.
    grammar: str = ""
    """The name that sqlglot has for the dialect."""
    is_hidden_relation: Callable[[str, str, str], bool] = lambda _catalog, _schema, _name: False
    """Whether agents may not read a catalog, schema and name, in lower case."""
    split_statement: Callable[[str], tuple[str, str]] = lambda sql: ("", sql)
    """What sqlglot cannot parse at the beginning, already checked, and the rest in a spelling that it reads."""
    correct_tree: Callable[[Any], None] = lambda _tree: None
    """Correct nodes that sqlglot would generate incorrectly."""
    show_commands: re.Pattern[str] = NO_NAME
    session_variables: re.Pattern[str] = NO_NAME
    query_options: re.Pattern[str] = NO_NAME
    wide_format: re.Pattern[str] = NO_NAME
    """A format of printf whose result may be huge."""
    calls_search_tables: bool = False
    """Tables of full-text search can be called like a function: `FROM notes('cart')`."""

    def names(self, kind: str) -> frozenset[str]:
        return load_names(self.name).get(kind, frozenset())

    @property
    def functions(self) -> frozenset[str]:
        return self.names("functions")


@cache
def load_names(file: str) -> Mapping[str, frozenset[str]]:
    """The names of one file, by the heading in brackets that they stand under."""
    text = resources.files("commonplace.sqlguard").joinpath(f"names/{file}.txt").read_text("utf-8")
    parts = re.split(r"^\[(\w+)\]$", text, flags=re.MULTILINE)[1:]
    return {kind: frozenset(words.split()) for kind, words in zip(parts[::2], parts[1::2], strict=True)}


def check_with_sqlglot(dialect: SqlDialect, sql: str) -> CheckedStatement:
    checked: CheckedStatement = _load_sqlglot_check(dialect).check_with_sqlglot(dialect, sql)
    return checked


def _load_sqlglot_check(dialect: SqlDialect) -> Any:
    return load_package(dialect.name, "commonplace.sqlguard.sqlglot_check")


def check_view(dialect: SqlDialect, name: str, definition: str, depth: int) -> CheckedStatement:
    """Refuse a view that does not only read; return what it reads. A view runs its functions whoever reads it, so
    SLEEP in a view would get past a check of the statement alone."""
    if depth >= MAX_VIEW_DEPTH or len(definition) > _MAX_DEFINITION_CHARACTERS:
        raise view_too_deep(name)
    with name_refused_code(f"The view {name}"):
        checked: CheckedStatement = _load_sqlglot_check(dialect).check_view_definition(dialect, definition)
        return checked


def view_too_deep(name: object) -> errors.TooLarge:
    return errors.TooLarge(
        f"The view {name} is nested too deeply or too long.", hint="Read its tables instead."
    )


@contextlib.contextmanager
def name_refused_code(owner: str) -> Iterator[None]:
    """Say which code of the database was refused: a view, the check of a domain, a row policy."""
    try:
        yield
    except errors.Refusal as refused:
        raise forbidden_statement(f"{owner} is not known to be read-only: {refused.message}") from None


def strip_leading_comments(sql: str) -> str:
    """Comments inside the statement are left to the tokenizer."""
    return re.sub(r"\A(?:\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/))+", "", sql, flags=re.DOTALL).strip()


def forbidden_statement(
    what: str, hint: str = "Send one SELECT statement that only reads."
) -> errors.Forbidden:
    return errors.Forbidden(what, hint=hint)


def forbidden_function(name: object) -> errors.Forbidden:
    return forbidden_statement(
        f"The function {name} is not on the list of read-only functions.",
        "Leave it out; docs/guides/databases.md explains which functions are refused and why.",
    )


def changed_statement() -> errors.Forbidden:
    return forbidden_statement(
        "This statement cannot be generated from its tree without a change.", "Write it in a simpler way."
    )


def require_one_statement(statements: Sequence[Any]) -> Any:
    if len(statements) != 1:
        raise forbidden_statement(f"The query has {len(statements)} statements; only one is allowed.")
    return statements[0]


def parse_integer(text: str) -> int | None:
    """The number that a literal stands for."""
    try:
        return int(float(text)) if 0 < len(text) < _MAX_DIGITS else None
    except (ValueError, OverflowError):
        return None


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
