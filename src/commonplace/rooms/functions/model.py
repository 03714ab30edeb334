"""Registered functions: arguments, replies, and what is derived from a row.

The SQL is in `store.py`; what a scan sends is in `scans.py`; merging a scan into the registry is in `syncing.py`.
"""

import re
from typing import Annotated, Any

import msgspec
from pydantic import BeforeValidator, Field, StringConstraints

from commonplace import errors
from commonplace.arguments import MAX_INTEGER
from commonplace.operation import Reply
from commonplace.store.database import Row, Value

MAX_DERIVED_PURPOSE_CHARACTERS = 300

FunctionName = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
FunctionPath = Annotated[str, Field(min_length=1, max_length=1100, description="path:line")]
FunctionPurpose = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
FunctionText = Annotated[str, Field(max_length=4000)]
SourceCode = Annotated[str, Field(max_length=20_000)]
FunctionQuery = Annotated[str, Field(min_length=1, max_length=4000)]
FunctionCursor = Annotated[
    str, Field(max_length=1400, description="Where to go on: `next_cursor` of the previous reply.")
]
QueueOffset = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
FunctionLimit = Annotated[int, Field(ge=1, le=50)]


def _list_from_text(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _text_from_integer(value: Any) -> Any:
    return str(value) if isinstance(value, int) else value


FunctionTexts = Annotated[list[FunctionText], BeforeValidator(_list_from_text), Field(max_length=100)]
FunctionParameters = Annotated[list[dict[str, Any]], Field(max_length=100)]
FunctionComplexity = Annotated[str, BeforeValidator(_text_from_integer), Field(max_length=200)]

_LINE_SUFFIX = re.compile(r":(\d{1,7})(?:-\d{1,7})?(?::\d{1,7})?$")
_CALL_ARGUMENTS = re.compile(r"\s*\(.*$", re.DOTALL)
_NAME_SEPARATOR = re.compile(r"::|->|\\")


def split_line_number(path: str) -> tuple[str, int]:
    """Split `path:line` into the path and the line, or 0."""
    match = _LINE_SUFFIX.search(path)
    return (path[: match.start()], int(match[1])) if match else (path, 0)


def normalize_name(name: str) -> str:
    """Turn `Client::retry(n)` and `Client->retry` into `Client.retry`."""
    plain = _NAME_SEPARATOR.sub(".", _CALL_ARGUMENTS.sub("", name)).strip(". ")
    if not plain:
        raise errors.Invalid(
            f"'{name[:80]}' is not a function name.",
            hint="Pass name as in the code, for example Client.retry.",
        )
    return plain


def unqualified_name(name: str) -> str:
    return name.partition("#")[0].rpartition(".")[2] or name


def name_matches(name: str, qualified_name: str) -> bool:
    """Whether a name, perhaps without its class or module, means this function."""
    return name == qualified_name or qualified_name.endswith(f".{name}")


def decode_facts(row: Row) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(row["scanned"])
    return decoded


def decode_analysis(row: Row) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(row["analysis"])
    return decoded


def is_described(row: Row) -> bool:
    """Whether somebody registered or enriched it, beyond what the source says."""
    return row["described_at"] is not None or row["enriched_at"] is not None


def is_enriched(row: Row) -> bool:
    return bool(row["digest"]) or row["enriched_at"] is not None


def describe_purpose(row: Row) -> str:
    """Return the registered purpose, else the summary, else the first paragraph of the docstring."""
    written: str = row["purpose"] or decode_analysis(row).get("search_summary", "")
    return (
        written
        or " ".join(decode_facts(row).get("doc", "").split("\n\n")[0].split())[
            :MAX_DERIVED_PURPOSE_CHARACTERS
        ]
    )


def join_gotchas(row: Row) -> str:
    return "; ".join(
        gotcha for gotcha in (row["gotchas"], *decode_analysis(row).get("additional_gotchas", ())) if gotcha
    )


def current_signature(row: Row) -> str:
    return str(row["signature"] or decode_analysis(row).get("signature", ""))


def list_facts(row: Row, name: str) -> list[str]:
    """Return a list that was read from the source, else the one of the analysis."""
    values: list[str] = decode_facts(row).get(name) or decode_analysis(row).get(name, [])
    return values


def list_drift(row: Row) -> list[str]:
    """List what changed in the code since it was described or enriched."""
    descriptions = [
        (row[f"{kind}_signature"], row[f"{kind}_body"])
        for kind in ("described", "enriched")
        if row[f"{kind}_at"] is not None
    ]
    changed = []
    if any(old and old != row["signature"] for old, _ in descriptions):
        changed.append("signature")
    if any(old and old != row["body"] for _, old in descriptions):
        changed.append("body")
    if row["moved_from"]:
        changed.append("moved")
    if row["state"] == "gone" and descriptions:
        changed.append("gone")
    return changed


# Why a function is in the enrichment queue, in the order of the queue.
QUEUE_REASONS = {1: "registered by hand", 2: "changed since described", 3: "undescribed"}


def queue_rank(row: Row) -> int:
    if row["state"] == "gone":
        return 0
    if not is_enriched(row):
        return 1
    if list_drift(row):
        return 0 if _is_analysis_current(row) else 2
    return 0 if describe_purpose(row) else 3


def _is_analysis_current(row: Row) -> bool:
    """Whether the analysis was made of the current code, whatever was described before."""
    return row["enriched_at"] is not None and (row["enriched_signature"], row["enriched_body"]) == (
        row["signature"],
        row["body"],
    )


def search_text(row: Row) -> str:
    """Return the text to index: purpose, signature, calls, effects, file and body; long ones are cut into passages."""
    scanned = decode_facts(row)
    parts = (
        describe_purpose(row),
        str(decode_analysis(row).get("search_summary", "")),
        scanned.get("doc", ""),
        join_gotchas(row),
        current_signature(row),
        " ".join(list_facts(row, "calls")),
        " ".join((*list_facts(row, "side_effects"), *scanned.get("raises", ()))),
        row["prefer_over"] and f"Use it instead of: {row['prefer_over']}",
        row["file"],
        row["code"],
    )
    return "\n".join(dict.fromkeys(part for part in parts if part))


def format_location(row: Row) -> str:
    return f"{row['file']}:{row['line']}" if row["line"] else str(row["file"])


_split_words = str.split
_TEXT_COLUMNS = _split_words(
    "kind language signature body digest code purpose gotchas prefer_over described_by described_signature"
    " described_body moved_from enriched_by enriched_signature enriched_body"
)
_NUMBER_COLUMNS = ("line", "end_line", "complexity", "queued")
_TIME_COLUMNS = ("described_at", "enriched_at")


def new_function_row(project: str, function_id: str, file: str, name: str, now: int) -> dict[str, Value]:
    """Return a row for a function of which only the file and name are known."""
    return {
        **dict.fromkeys(_TEXT_COLUMNS, ""),
        **dict.fromkeys(_NUMBER_COLUMNS, 0),
        **dict.fromkeys(_TIME_COLUMNS),
        "project": project,
        "id": function_id,
        "file": file,
        "name": name,
        "short": unqualified_name(name),
        "scanned": "{}",
        "analysis": "{}",
        "requires": "[]",
        "state": "unseen",
        "created_at": now,
        "updated_at": now,
    }


class SimilarFunction(Reply):
    id: str
    name: str
    file_path: str
    similarity: float
    purpose: str = ""


class RegisteredFunction(Reply):
    status: str
    id: str
    queued_for_enrichment: bool
    replaced: dict[str, str] = {}
    """Whose text this one replaced: by, at, purpose."""
    similar: list[SimilarFunction] = []


class FunctionDrift(Reply):
    changed: list[str]
    signature_was: str = ""
    moved_from: str = ""

    @classmethod
    def from_row(cls, row: Row) -> "FunctionDrift | None":
        changed = list_drift(row)
        if not changed:
            return None
        old_signature = row["described_signature"] or row["enriched_signature"]
        return cls(
            changed=changed,
            signature_was=old_signature if "signature" in changed else "",
            moved_from=row["moved_from"],
        )


class FunctionMatch(Reply):
    id: str
    name: str
    file_path: str
    purpose: str
    signature: str
    relevance: float
    enriched: bool
    gotchas: str = ""
    prefer_over: str = ""
    requires: list[str] = []
    side_effects: list[str] = []
    project: str = ""
    described_by: str = ""
    """Who wrote purpose and gotchas, if another agent than the reader."""
    drift: FunctionDrift | None = None

    @classmethod
    def from_row(cls, row: Row, relevance: float, own_project: str, reader: str) -> "FunctionMatch":
        return cls(
            id=row["id"],
            name=row["name"],
            file_path=format_location(row),
            purpose=describe_purpose(row),
            signature=current_signature(row),
            relevance=relevance,
            enriched=is_enriched(row),
            gotchas=join_gotchas(row),
            prefer_over=row["prefer_over"],
            requires=msgspec.json.decode(row["requires"]),
            side_effects=list_facts(row, "side_effects"),
            project=row["project"] if row["project"] != own_project else "",
            described_by="" if row["described_by"] == reader else row["described_by"],
            drift=FunctionDrift.from_row(row),
        )


class FunctionSearchReply(Reply):
    result_count: int
    results: list[FunctionMatch]
    message: str = ""
    nearest_names: list[str] = []
    """Without results, the functions that are nearest to the question."""


class EnrichedFunction(Reply):
    status: str
    id: str
    name: str
    fields: list[str]


class QueuedFunction(Reply):
    """A function in the enrichment queue; `code` is empty unless requested."""

    id: str
    name: str
    file_path: str
    reason: str
    signature: str = ""
    purpose: str = ""
    gotchas: str = ""
    calls: list[str] = []
    drift: FunctionDrift | None = None
    code: str = ""

    @classmethod
    def from_row(cls, row: Row, code: str = "") -> "QueuedFunction":
        return cls(
            id=row["id"],
            name=row["name"],
            file_path=format_location(row),
            reason=QUEUE_REASONS[row["queued"]],
            signature=current_signature(row),
            purpose=describe_purpose(row),
            gotchas=join_gotchas(row) if code else "",
            calls=list_facts(row, "calls")[:20] if code else [],
            drift=FunctionDrift.from_row(row),
            code=code,
        )


class EnrichmentQueue(Reply):
    pending_count: int
    items: list[QueuedFunction]


class LibrarianAssignment(Reply):
    project: str
    unenriched_count: int
    prompt: str
    items: list[QueuedFunction]
    omitted: int = 0


class FunctionListing(Reply):
    count: int
    functions: list[tuple[str, str, str, int, int]]
    next_cursor: str | None = None


class SyncedFunctions(Reply):
    status: str
    added: int = 0
    updated: int = 0
    moved: int = 0
    gone: int = 0
