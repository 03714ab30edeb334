"""Is this one statement that only reads? What is sent is written anew from its tree, never the text that came in."""

from commonplace import errors
from commonplace.rooms.databases.config import Dialect
from commonplace.rooms.databases.guard import lexical
from commonplace.rooms.databases.guard.verdict import Checked

__all__ = ["Checked", "check"]


def check(dialect: Dialect, sql: str) -> Checked:
    """The statement to send, or a refusal. The parsers are large, so they are loaded by the first query."""
    text = lexical.checked(dialect, sql)
    try:
        if dialect == "postgresql":
            from commonplace.rooms.databases.guard.postgres import check as by_grammar  # noqa: PLC0415 - see above

            return by_grammar(text)
        from commonplace.rooms.databases.guard.trees import check as by_tree  # noqa: PLC0415 - see above

        return by_tree(dialect, text)
    except ModuleNotFoundError as missing:
        raise errors.Unavailable(
            f"Queries to {dialect} need the package {missing.name}, which is not installed.",
            hint=f"Install commonplace[{dialect}].",
        ) from None
    except RecursionError:
        raise errors.TooLarge("The query is nested too deeply.", hint="Use WITH for its parts.") from None
