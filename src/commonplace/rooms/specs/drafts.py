"""What memory_define_spec computes before its transaction: the words of the text, and what changed since the latest version.

A comparison takes as long as several writes, and SQLite has one writer. If somebody publishes a version meanwhile, the
comparison is made again inside the transaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.rooms.specs import model, schemas, store
from commonplace.rooms.specs.changes import summarize_spec_changes
from commonplace.rooms.specs.field_changes import NO_FIELD_CHANGES, FieldChanges, find_field_changes
from commonplace.rooms.specs.fields import NO_SCHEMA
from commonplace.search.engine import prepare_words
from commonplace.store.database import Row, Tx

_count_words = prepare_words("content")


@dataclass(frozen=True, slots=True)
class SpecComparison:
    """What a new version changes in the one before."""

    previous: str
    fields: FieldChanges = NO_FIELD_CHANGES
    summary: str = ""


def compare_versions(latest: Row, version: str, text: Row) -> SpecComparison:
    fields = find_field_changes(latest, text)
    return SpecComparison(version, fields, summarize_spec_changes(latest, text, fields))


async def prepare_spec(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> SpecComparison | None:
    """Compare the text with the latest version; None if there is none."""
    model.require_content_size(arguments["content"])
    await _count_words(calls, arguments, caller)
    schema = arguments["json_schema"]
    own_schema = schemas.require_valid_schema(schema) if schema is not None else None

    async def load_latest(tx: Tx) -> tuple[Row, str] | None:
        call = await calls.bind_call(tx, caller, arguments["session_id"], arguments["project"])
        spec = await store.load_spec(tx, call.project, arguments["name"])
        return (await store.load_latest_version(tx, spec), spec["version"]) if spec else None

    found = await calls.database.read(load_latest)
    if found is None:
        return None
    latest, version = found
    text = {
        "content": arguments["content"],
        "json_schema": own_schema or latest.get("json_schema", NO_SCHEMA),
    }
    return compare_versions(latest, version, text)
