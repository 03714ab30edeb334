"""The gate before any parser: characters that parsers and servers are known to read differently."""

import re

from commonplace import errors

MOST_BYTES = 20_000

# CR ends a `--` comment for some servers and not for others, U+FEFF is white space for SQLite alone.
_STRANGE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\u200b-\u200f\u2028-\u202e\u2060-\u206f]")
_EXECUTABLE_COMMENT = re.compile(r"/\*M?!", re.IGNORECASE)


def checked(dialect: str, sql: str) -> str:
    """The text with plain line ends, or a refusal."""
    plain = sql.replace("\r\n", "\n").strip()
    if not plain:
        raise errors.Invalid("The query is empty.", hint="Send one SELECT.")
    if len(plain.encode()) > MOST_BYTES:
        raise errors.TooLarge(f"A query is {MOST_BYTES:,} bytes at most.", hint="Ask for less at once.")
    if strange := _STRANGE.search(plain):
        raise errors.Forbidden(
            f"The query holds the character U+{ord(strange[0]):04X}, which databases read differently.",
            hint="Write the query with plain spaces and line ends.",
        )
    if dialect == "mysql" and _EXECUTABLE_COMMENT.search(plain):
        raise errors.Forbidden(
            "The query holds a comment that MySQL runs (/*! or /*M!).", hint="Leave that comment out."
        )
    return plain
