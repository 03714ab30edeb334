"""Refuse, before any parser runs, characters that parsers and database servers interpret differently."""

import re

from commonplace import errors

MAX_QUERY_BYTES = 20_000

# CR ends a `--` comment for some servers but not for others; U+FEFF is white space for SQLite alone.
_AMBIGUOUS_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\u200b-\u200f\u2028-\u202e\u2060-\u206f]"
)
_EXECUTABLE_COMMENT = re.compile(r"/\*M?!", re.IGNORECASE)


def normalize_query(dialect: str, sql: str) -> str:
    """The text with \\n line ends, or a refusal."""
    text = sql.replace("\r\n", "\n").strip()
    if not text:
        raise errors.Invalid("The query is empty.", hint="Send one SELECT statement.")
    if len(text.encode()) > MAX_QUERY_BYTES:
        raise errors.TooLarge(
            f"A query has at most {MAX_QUERY_BYTES:,} bytes.", hint="Shorten the query or split it."
        )
    if match := _AMBIGUOUS_CHARACTER.search(text):
        raise errors.Forbidden(
            f"The query contains the character U+{ord(match[0]):04X}, which databases interpret differently.",
            hint="Use plain spaces and line feeds only.",
        )
    if dialect == "mysql" and _EXECUTABLE_COMMENT.search(text):
        raise errors.Forbidden(
            "The query contains a comment that MySQL executes (/*! or /*M!).", hint="Remove that comment."
        )
    return text
