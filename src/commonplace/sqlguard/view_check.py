"""Look into the views that a statement of SQLite or MySQL reads: their definitions are checked like statements.

A view runs its functions whoever reads it, so SLEEP in a view would get past a check of the statement alone. PostgreSQL's
views are checked with the rest of its catalog (`postgres_catalog.py`).
"""

from collections.abc import Collection, Mapping
from functools import lru_cache

from commonplace import errors
from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.verdict import CheckedStatement, forbidden_function, forbidden_statement

_MAX_VIEW_DEPTH = 8
_MAX_DEFINITION_CHARACTERS = 100_000


def check_views(
    dialect: Dialect, checked: CheckedStatement, views: Mapping[str, str], depth: int = 0
) -> None:
    """Refuse a statement that reads a view with other than reading functions; `views` by name in lower case."""
    for name in checked.relations:
        definition = views.get(name.name.lower())
        if definition is None:
            continue
        check_views(dialect, check_view(dialect, name.name, definition, depth), views, depth + 1)


def check_view(dialect: Dialect, name: str, definition: str, depth: int) -> CheckedStatement:
    """Refuse a view that does not only read; return what it reads."""
    if depth >= _MAX_VIEW_DEPTH or len(definition) > _MAX_DEFINITION_CHARACTERS:
        raise errors.TooLarge(
            f"The view {name} is nested too deeply or too long.", hint="Read its tables instead."
        )
    return _check_definition(dialect, name, definition)


def require_search_tables(checked: CheckedStatement, tables: Collection[str]) -> None:
    """Only a table of full-text search can be called like a function: `FROM notes('cart')`."""
    for name in checked.table_functions:
        if name not in tables:
            raise forbidden_function(name)


@lru_cache(maxsize=256)
def _check_definition(dialect: Dialect, name: str, definition: str) -> CheckedStatement:
    # sqlglot is large, so the first query imports it.
    from commonplace.sqlguard.sqlglot_check import check_view_definition  # noqa: PLC0415

    try:
        return check_view_definition(dialect, definition)
    except errors.Refusal as refused:
        raise forbidden_statement(
            f"The view {name} is not known to be read-only: {refused.message}"
        ) from None
