"""An entry of an agent's memory: arguments, replies, and whether it may be written."""

import fnmatch
import re
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from pydantic import AfterValidator, Field

from commonplace import errors
from commonplace.clock import SECOND, iso
from commonplace.config import Settings
from commonplace.operation import Reply
from commonplace.rooms.blackboard.model import integer_range, text_length
from commonplace.store.database import Row

VALUE_BYTES = 1_000_000
EVERY_SCOPE = "all"

_YEAR = 365 * 24 * 3600
_LITERAL = re.compile(r"[^*?\[]*")


def _without_space(key: str) -> str:
    if re.search(r"\s", key):
        raise ValueError("must not contain white space")
    return key


Key = Annotated[str, text_length(255), AfterValidator(_without_space)]
Pattern = Annotated[str, text_length(255)]
ExpiresIn = Annotated[int, integer_range(0, _YEAR)]
Version = Annotated[int, integer_range(0)]
Limit = Annotated[int, Field(ge=1, le=1000)]
Offset = Annotated[int, integer_range(0)]


class Stored(Reply):
    success: bool
    key: str
    scope: str
    version: int
    expires_at: str | None = None


class Entry(Reply):
    key: str
    value: msgspec.Raw
    version: int
    scope: str
    created_at: str
    updated_at: str
    metadata: dict[str, Any] = {}
    session_id: str = ""
    expires_at: str | None = None

    @classmethod
    def of(cls, row: Row) -> "Entry":
        return cls(
            key=row["key"],
            value=msgspec.Raw(row["value"].encode()),
            version=row["version"],
            scope=scope(row["session"]),
            created_at=iso(row["created_at"]),
            updated_at=iso(row["updated_at"]),
            metadata=msgspec.json.decode(row["metadata"]),
            session_id=row["session"],
            expires_at=shown(row["expires_at"]),
        )


class Listed(Reply):
    key: str
    scope: str
    version: int
    size: int
    updated_at: str
    session_id: str = ""
    expires_at: str | None = None

    @classmethod
    def of(cls, row: Row) -> "Listed":
        return cls(
            key=row["key"],
            scope=scope(row["session"]),
            version=row["version"],
            size=row["size"],
            updated_at=iso(row["updated_at"]),
            session_id=row["session"],
            expires_at=shown(row["expires_at"]),
        )


class Entries(Reply):
    total: int
    entries: list[Listed] = []


class Deleted(Reply):
    success: bool
    deleted: bool


def scope(session: str) -> str:
    return "session" if session else "global"


def expiry(now: int, expires_in: int | None) -> int | None:
    return now + expires_in * SECOND if expires_in else None


def shown(at: int | None) -> str | None:
    return iso(at) if at else None


def packed(value: Any) -> str:
    """A value as it is stored, if it is within its limit."""
    encoded = msgspec.json.encode(value)
    if len(encoded) > VALUE_BYTES:
        raise errors.TooLarge(
            f"value is {len(encoded)} bytes; {VALUE_BYTES} at most.", hint="Split it over several keys."
        )
    return encoded.decode()


def require_writable(live: Row | None, key: str, *, overwrite: bool, expected_version: int | None) -> None:
    """Refuse to replace what the caller did not expect to be there."""
    version = live["version"] if live else 0
    if live and not overwrite:
        raise errors.Duplicate(
            f"'{key}' is set already.", hint="Read it with get_memory, or set overwrite.", version=version
        )
    if expected_version is not None and expected_version != version:
        raise errors.Conflict(
            f"'{key}' has version {version}, not {expected_version}.",
            hint="Read it with get_memory and decide again."
            if live
            else "It is gone; expected_version 0 makes it.",
            version=version,
        )


def over_limit(entries: int, size: int, settings: Settings) -> errors.Refusal | None:
    """Why an agent may not keep this much."""
    hint = "Delete what is no longer needed (list_memory, delete_memory), or let it expire."
    if entries > settings.agent_memory_entries:
        most = settings.agent_memory_entries
        return errors.TooMany(f"This agent would have {entries} entries; {most} at most.", hint=hint)
    if size > settings.agent_memory_bytes:
        most = settings.agent_memory_bytes
        return errors.TooLarge(f"This agent would keep {size} bytes; {most} at most.", hint=hint)
    return None


def beginning(pattern: str | None, prefix: str | None) -> str:
    """What every wanted key begins with, as far as the pattern says."""
    literal = _LITERAL.match(pattern or "")
    return prefix or (literal[0] if literal else "")


def matching(rows: Sequence[Row], pattern: str | None) -> Sequence[Row]:
    """The rows whose keys match a glob."""
    if pattern is None:
        return rows
    matches = re.compile(fnmatch.translate(pattern)).match
    return [row for row in rows if matches(row["key"])]
