"""Is this one statement that only reads? What is sent is written anew from its tree, never the text that came in."""

from commonplace import errors
from commonplace.sqlguard import lexical
from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.verdict import Checked

__all__ = ["Checked", "check"]


def check(dialect: Dialect, sql: str) -> Checked:
    """The statement to send, or a refusal. The parsers are large, so they are loaded by the first query."""
    text = lexical.checked(dialect, sql)
    try:
        if dialect == "postgresql":
            from commonplace.sqlguard.pglast_check import check as by_grammar  # noqa: PLC0415 - see above

            return by_grammar(text)
        from commonplace.sqlguard.sqlglot_check import check as by_tree  # noqa: PLC0415 - see above

        return by_tree(dialect, text)
    except ModuleNotFoundError as missing:
        raise errors.Unavailable(
            f"Queries to {dialect} need the package {missing.name}, which is not installed.",
            hint=f"Install commonplace[{dialect}].",
        ) from None
    except RecursionError:
        raise errors.TooLarge("The query is nested too deeply.", hint="Use WITH for its parts.") from None
