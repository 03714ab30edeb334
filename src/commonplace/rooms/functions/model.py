"""A function as callers give it, as the librarian reads it and as replies show it."""

import re
from typing import Annotated, Any, Literal

import msgspec
import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from commonplace import errors
from commonplace.operation import Reply
from commonplace.store.database import Row, Value

PURPOSE = 300
BATCH = 500

Name = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
Place = Annotated[str, Field(min_length=1, max_length=1100)]
Purpose = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
Text = Annotated[str, Field(max_length=4000)]
Code = Annotated[str, Field(max_length=20_000)]
Query = Annotated[str, Field(min_length=1, max_length=4000)]
Offset = Annotated[int, Field(ge=0)]
Limit = Annotated[int, Field(ge=1, le=50)]


def _many(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


def _spoken(given: Any) -> Any:
    return str(given) if isinstance(given, int) else given


Texts = Annotated[list[Text], BeforeValidator(_many), Field(max_length=100)]
Parameters = Annotated[list[dict[str, Any]], Field(max_length=100)]
Complexity = Annotated[str, BeforeValidator(_spoken), Field(max_length=200)]
Objects = Annotated[list[dict[str, Any]], Field(max_length=BATCH)]
Places = Annotated[list[list[str]], Field(max_length=10 * BATCH)]
Lines = Annotated[list[list[str | int]], Field(max_length=10 * BATCH)]

_LINE = re.compile(r":(\d{1,7})(?:-\d{1,7})?(?::\d{1,7})?$")
_CALL = re.compile(r"\s*\(.*$", re.DOTALL)
_SEPARATOR = re.compile(r"::|->|\\")


class Scanned(BaseModel):
    """What the librarian read in a source file."""

    model_config = ConfigDict(extra="forbid")

    file: Annotated[str, Field(min_length=1, max_length=1024)]
    name: Name
    kind: Literal["function", "method", "class"]
    language: Annotated[str, Field(max_length=20)]
    line: Annotated[int, Field(ge=1)]
    end_line: Annotated[int, Field(ge=1)]
    signature: Annotated[str, Field(max_length=400)]
    body: Annotated[str, Field(max_length=64)]
    digest: Annotated[str, Field(min_length=1, max_length=64)]
    complexity: Annotated[int, Field(ge=1)] = 1
    returns: Annotated[str, Field(max_length=400)] = ""
    doc: Annotated[str, Field(max_length=1000)] = ""
    parameters: Parameters = []
    raises: Texts = []
    calls: Texts = []
    called_by: Texts = []
    side_effects: Texts = []
    code: Code = ""

    def facts(self) -> dict[str, Any]:
        """What is kept as it was read."""
        names = ("parameters", "returns", "doc", "raises", "calls", "called_by", "side_effects")
        return {name: value for name in names if (value := getattr(self, name))}


_SCANNED = pydantic.TypeAdapter(list[Scanned])


def scanned(given: list[dict[str, Any]]) -> list[Scanned]:
    try:
        return _SCANNED.validate_python(given)
    except pydantic.ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise errors.Invalid(
            f"functions.{where}: {first['msg']}.", hint="Send what the librarian reads."
        ) from None


def place(given: str) -> tuple[str, int]:
    """The path and, where it was named, the line."""
    found = _LINE.search(given)
    return (given[: found.start()], int(found[1])) if found else (given, 0)


def spelled(name: str) -> str:
    """`Client::retry(n)` and `Client->retry` as `Client.retry`."""
    plain = _SEPARATOR.sub(".", _CALL.sub("", name)).strip(". ")
    if not plain:
        raise errors.Invalid(f"'{name[:80]}' is no function's name.", hint="Give it as the code spells it.")
    return plain


def short(name: str) -> str:
    return name.partition("#")[0].rpartition(".")[2] or name


def means(given: str, known: str) -> bool:
    """A name may be given without what it stands in."""
    return given == known or known.endswith(f".{given}")


def facts(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(row["scanned"])
    return found


def analysis(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(row["analysis"])
    return found


def is_described(row: Row) -> bool:
    """Somebody wrote something about it that the source does not say."""
    return row["described_at"] is not None or row["enriched_at"] is not None


def is_enriched(row: Row) -> bool:
    return bool(row["digest"]) or row["enriched_at"] is not None


def purpose(row: Row) -> str:
    """What somebody wrote, else a summary, else the first paragraph of the documentation."""
    written: str = row["purpose"] or analysis(row).get("search_summary", "")
    return written or " ".join(facts(row).get("doc", "").split("\n\n")[0].split())[:PURPOSE]


def gotchas(row: Row) -> str:
    return "; ".join(each for each in (row["gotchas"], *analysis(row).get("additional_gotchas", ())) if each)


def signature(row: Row) -> str:
    return str(row["signature"] or analysis(row).get("signature", ""))


def known(row: Row, name: str) -> list[str]:
    """A list that was read from the source, else as somebody analysed it."""
    found: list[str] = facts(row).get(name) or analysis(row).get(name, [])
    return found


def drift(row: Row) -> list[str]:
    """What changed in the code since something was written about it."""
    written = [
        (row[f"{what}_signature"], row[f"{what}_body"])
        for what in ("described", "enriched")
        if row[f"{what}_at"] is not None
    ]
    changed = []
    if any(was and was != row["signature"] for was, _ in written):
        changed.append("signature")
    if any(was and was != row["body"] for _, was in written):
        changed.append("body")
    if row["moved_from"]:
        changed.append("moved")
    if row["state"] == "gone" and written:
        changed.append("gone")
    return changed


# Why a function waits for somebody: what people registered comes first, what nobody described last.
REASONS = {1: "registered by hand", 2: "changed since described", 3: "undescribed"}


def queued(row: Row) -> int:
    if row["state"] == "gone":
        return 0
    if not is_enriched(row):
        return 1
    if drift(row):
        return 0 if _is_looked_at(row) else 2
    return 0 if purpose(row) else 3


def _is_looked_at(row: Row) -> bool:
    """It was analysed as it is now, whatever was written about it before."""
    return row["enriched_at"] is not None and (row["enriched_signature"], row["enriched_body"]) == (
        row["signature"],
        row["body"],
    )


def searched(row: Row) -> str:
    """What it is found by: what it is for, how it is called, what it calls, where it is."""
    found = facts(row)
    parts = (
        purpose(row),
        str(analysis(row).get("search_summary", "")),
        found.get("doc", ""),
        gotchas(row),
        signature(row),
        " ".join(known(row, "calls")),
        " ".join((*known(row, "side_effects"), *found.get("raises", ()))),
        row["prefer_over"],
        row["file"],
    )
    return "\n".join(dict.fromkeys(part for part in parts if part))


def where(row: Row) -> str:
    return f"{row['file']}:{row['line']}" if row["line"] else str(row["file"])


_words = str.split
_TEXTS = _words(
    "kind language signature body digest code purpose gotchas prefer_over described_by described_signature"
    " described_body moved_from enriched_by enriched_signature enriched_body"
)
_NUMBERS = ("line", "end_line", "complexity", "queued")
_TIMES = ("described_at", "enriched_at")


def empty(project: str, identity: str, file: str, name: str, now: int) -> dict[str, Value]:
    """A function of which nothing is known but where it is."""
    return {
        **dict.fromkeys(_TEXTS, ""),
        **dict.fromkeys(_NUMBERS, 0),
        **dict.fromkeys(_TIMES),
        "project": project,
        "id": identity,
        "file": file,
        "name": name,
        "short": short(name),
        "scanned": "{}",
        "analysis": "{}",
        "requires": "[]",
        "state": "unseen",
        "created_at": now,
        "updated_at": now,
    }


class Similar(Reply):
    id: str
    name: str
    file_path: str
    similarity: float
    purpose: str = ""


class Registered(Reply):
    status: str
    id: str
    queued_for_enrichment: bool
    similar: list[Similar] = []


class Drift(Reply):
    changed: list[str]
    signature_was: str = ""
    moved_from: str = ""

    @classmethod
    def of(cls, row: Row) -> "Drift | None":
        changed = drift(row)
        if not changed:
            return None
        was = row["described_signature"] or row["enriched_signature"]
        return cls(
            changed=changed,
            signature_was=was if "signature" in changed else "",
            moved_from=row["moved_from"],
        )


class Found(Reply):
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
    drift: Drift | None = None

    @classmethod
    def of(cls, row: Row, relevance: float, own: str) -> "Found":
        return cls(
            id=row["id"],
            name=row["name"],
            file_path=where(row),
            purpose=purpose(row),
            signature=signature(row),
            relevance=round(relevance, 3),
            enriched=is_enriched(row),
            gotchas=gotchas(row),
            prefer_over=row["prefer_over"],
            requires=msgspec.json.decode(row["requires"]),
            side_effects=known(row, "side_effects"),
            project=row["project"] if row["project"] != own else "",
            drift=Drift.of(row),
        )


class Findings(Reply):
    result_count: int
    results: list[Found] = []
    message: str = ""


class Enriched(Reply):
    status: str
    id: str
    name: str
    fields: list[str]


class Waiting(Reply):
    """A function that waits for enrichment; `code` only where it was asked for."""

    id: str
    name: str
    file_path: str
    reason: str
    signature: str = ""
    purpose: str = ""
    gotchas: str = ""
    calls: list[str] = []
    drift: Drift | None = None
    code: str = ""

    @classmethod
    def of(cls, row: Row, code: str = "") -> "Waiting":
        return cls(
            id=row["id"],
            name=row["name"],
            file_path=where(row),
            reason=REASONS[row["queued"]],
            signature=signature(row),
            purpose=purpose(row),
            gotchas=gotchas(row) if code else "",
            calls=known(row, "calls")[:20] if code else [],
            drift=Drift.of(row),
            code=code,
        )


class Queue(Reply):
    pending_count: int
    items: list[Waiting] = []


class Duty(Reply):
    project: str
    unenriched_count: int
    prompt: str
    items: list[Waiting] = []
    omitted: int = 0


class Listing(Reply):
    count: int
    functions: list[tuple[str, str, str, int, int]] = []
    next_cursor: str | None = None


class Synced(Reply):
    status: str
    added: int = 0
    updated: int = 0
    moved: int = 0
    gone: int = 0
