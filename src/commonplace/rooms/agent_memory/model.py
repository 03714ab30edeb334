"""Entries of an agent's key-value memory: arguments, replies, and the checks before a write."""

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
from commonplace.rooms.blackboard.model import MAX_INTEGER
from commonplace.store.database import Row

MAX_VALUE_BYTES = 1_048_576
ALL_SCOPES = "all"

_YEAR_SECONDS = 365 * 24 * 3600
_LITERAL_PREFIX = re.compile(r"[^*?\[]*")


def _require_no_whitespace(key: str) -> str:
    if re.search(r"\s", key):
        raise ValueError("must not contain white space")
    return key


MemoryKey = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_require_no_whitespace)]
KeyPattern = Annotated[str, Field(min_length=1, max_length=255)]
ExpirySeconds = Annotated[int, Field(ge=0, le=_YEAR_SECONDS, description="Seconds.")]
MemoryVersion = Annotated[int, Field(ge=0, le=MAX_INTEGER, description="Else conflict.")]
MemoryLimit = Annotated[int, Field(ge=1, le=1000)]
MemoryOffset = Annotated[int, Field(ge=0, le=MAX_INTEGER)]


class StoredMemory(Reply):
    success: bool
    key: str
    scope: str
    version: int
    expires_at: str | None = None


class MemoryEntry(Reply):
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
    def from_row(cls, row: Row) -> "MemoryEntry":
        return cls(
            key=row["key"],
            value=msgspec.Raw(row["value"].encode()),
            version=row["version"],
            scope=scope_of_session(row["session"]),
            created_at=iso(row["created_at"]),
            updated_at=iso(row["updated_at"]),
            metadata=msgspec.json.decode(row["metadata"]),
            session_id=row["session"],
            expires_at=format_expiry(row["expires_at"]),
        )


class ListedMemory(Reply):
    key: str
    scope: str
    version: int
    size: int
    updated_at: str
    session_id: str = ""
    expires_at: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> "ListedMemory":
        return cls(
            key=row["key"],
            scope=scope_of_session(row["session"]),
            version=row["version"],
            size=row["size"],
            updated_at=iso(row["updated_at"]),
            session_id=row["session"],
            expires_at=format_expiry(row["expires_at"]),
        )


class MemoryListing(Reply):
    total: int
    entries: list[ListedMemory]


class DeletedMemory(Reply):
    success: bool
    deleted: bool


def scope_of_session(session: str) -> str:
    return "session" if session else "agent"


def compute_expiry(now: int, expires_in: int | None) -> int | None:
    return now + expires_in * SECOND if expires_in else None


def format_expiry(expires_at: int | None) -> str | None:
    return iso(expires_at) if expires_at else None


def encode_value(value: Any) -> str:
    """Encode a value for the store; refuse it above its limit."""
    encoded = msgspec.json.encode(value)
    if len(encoded) > MAX_VALUE_BYTES:
        raise errors.TooLarge(
            f"value has {len(encoded)} bytes as JSON; the limit is {MAX_VALUE_BYTES}.",
            hint="Split the value over several keys.",
        )
    return encoded.decode()


def require_writable(current: Row | None, key: str, *, overwrite: bool, expected_version: int | None) -> None:
    """Refuse a write if the stored entry is not what the caller expects."""
    version = current["version"] if current else 0
    if current and not overwrite:
        raise errors.Duplicate(
            f"'{key}' is already set.",
            hint="Read it with get_memory, or pass overwrite=true to replace it.",
            version=version,
        )
    if expected_version is not None and expected_version != version:
        raise errors.Conflict(
            f"'{key}' has version {version}, not {expected_version}.",
            hint="Read it with get_memory, then retry with its version as expected_version."
            if current
            else "The key is not set; retry with expected_version=0 to create it.",
            version=version,
        )


def quota_refusal(entries: int, size: int, settings: Settings) -> errors.Refusal | None:
    """Return the refusal if an agent would exceed its limits."""
    hint = "Find entries to delete with list_memory(session_id='all') and delete them with delete_memory."
    if entries > settings.agent_memory_entries:
        limit = settings.agent_memory_entries
        return errors.TooMany(f"You would have {entries} entries; the limit is {limit}.", hint=hint)
    if size > settings.agent_memory_bytes:
        limit = settings.agent_memory_bytes
        return errors.TooLarge(f"You would store {size} bytes; the limit is {limit}.", hint=hint)
    return None


def key_prefix(pattern: str | None, prefix: str | None) -> str:
    """Return the literal start that every matching key has."""
    literal = _LITERAL_PREFIX.match(pattern or "")
    return prefix or (literal[0] if literal else "")


def filter_by_pattern(rows: Sequence[Row], pattern: str | None) -> Sequence[Row]:
    """Return the rows whose keys match a glob."""
    if pattern is None:
        return rows
    match_key = re.compile(fnmatch.translate(pattern)).match
    return [row for row in rows if match_key(row["key"])]
