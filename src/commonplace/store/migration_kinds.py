"""What a migration does to what is stored: its file says it in the first line, `-- kind: additive` or `-- kind: data`.

Additive ones create tables, columns and indexes and fill new tables; a server applies them when it starts. Ones that
change data rewrite or delete what users stored; `migrate.py` says what happens before those.
"""

import re
from typing import Final, Literal

MigrationKind = Literal["additive", "data"]

_KIND_LINE: Final = re.compile(r"\A-- kind: (additive|data)\n")
_COMMENT: Final = re.compile(r"^\s*--.*$", re.MULTILINE)
_ADDITIVE: Final = re.compile(
    r"create (unique index|index|table|virtual table|trigger|extension)\b|alter table \w+ add column\b",
    re.IGNORECASE,
)
_INDEX: Final = re.compile(r"create (unique )?index (if not exists )?(\w+) on (\w+)", re.IGNORECASE)


def read_kind(text: str) -> MigrationKind | None:
    """What the file says of itself."""
    found = _KIND_LINE.match(text)
    return None if found is None else "additive" if found[1] == "additive" else "data"


def remove_kind(text: str) -> str:
    """The text without its kind: files that were released before kinds keep their checksums."""
    return _KIND_LINE.sub("", text)


def guess_kind(statements: list[str]) -> MigrationKind:
    """The kind of a file that does not say it: additive only if nothing else can be in it."""
    return "additive" if all(_ADDITIVE.match(strip_comments(text)) for text in statements) else "data"


def find_index_name(statement: str) -> str | None:
    """The name of the index that a statement creates."""
    found = _INDEX.match(strip_comments(statement))
    return found[3] if found else None


def is_vector_index(statement: str) -> bool:
    """Does the statement build a graph of vectors? A million take many minutes, and a server answers without it."""
    return " using hnsw " in statement.lower()


def build_concurrently(statement: str) -> str:
    """The same index, built by PostgreSQL while others write."""
    return re.sub(r"\bindex\b", "index concurrently", strip_comments(statement), count=1, flags=re.IGNORECASE)


def strip_comments(statement: str) -> str:
    return _COMMENT.sub("", statement).strip().removesuffix(";")
