"""Register, find and enrich functions; the last two operations are for `commonplace librarian`."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from pydantic import Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.call import Call, Calls
from commonplace.operation import alias, operation
from commonplace.rooms.functions import descriptions, librarian, model, scans, similar, store
from commonplace.rooms.functions.events import FUNCTION_ENRICHED, FUNCTION_REGISTERED, FUNCTIONS_SYNCED
from commonplace.rooms.functions.resources import list_function_page
from commonplace.rooms.functions.syncing import FunctionSync
from commonplace.rooms.locks.paths import canonicalize_path
from commonplace.search.engine import prepare_question
from commonplace.search.find import find_entries
from commonplace.search.query import EntryFilter
from commonplace.search.score import Question, is_near
from commonplace.store import ids
from commonplace.store.counters import lock_project
from commonplace.store.database import Row, Value

_LINE_FIELDS = 4
_GONE_FIELDS = 2
_MAX_NEAREST_NAMES = 3


async def _prepare_signature(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> str:
    """The signature in the code that the caller sent, read in a thread: parsing takes milliseconds."""
    del calls, caller
    code = arguments["code"]
    if not code:
        return ""
    return await asyncio.to_thread(_read_signature, arguments["file_path"], arguments["name"], code)


def _read_signature(file_path: str, name: str, code: str) -> str:
    from commonplace.librarian import snippet  # noqa: PLC0415 - the grammars are loaded only for it

    path, _ = model.split_line_number(file_path)
    return snippet.read_signature(path, model.normalize_name(name), code)


@operation(
    "memory_register_function",
    writes=True,
    idempotent=True,
    prepare=_prepare_signature,
    example={
        "name": "retry_with_backoff",
        "file_path": "src/net/retry.py:12",
        "purpose": "Call again after a failure, waiting longer each time.",
    },
    keywords="add, document, catalog helper, utility, code index, registry, reusable",
)
async def register_function(
    call: Call,
    name: model.FunctionName,
    file_path: Annotated[model.FunctionPath, alias("file")],
    purpose: model.FunctionPurpose,
    project: str | None = None,
    gotchas: model.FunctionText | None = None,
    prefer_over: Annotated[model.FunctionText | None, Field(description="What not to use.")] = None,
    requires: Annotated[model.FunctionTexts | None, Field(description="Preconditions.")] = None,
    code: model.SourceCode | None = None,
) -> model.RegisteredFunction:
    """Register a function that others should reuse; similar ones are returned."""
    await lock_project(call.tx, call.project, "functions")
    path, line = model.split_line_number(file_path)
    file = canonicalize_path(path, call.session.working_directory if call.session else None)
    fields = {"purpose": purpose, "gotchas": gotchas, "prefer_over": prefer_over, "code": code}
    changed_fields = {name: text for name, text in fields.items() if text is not None}
    before = await _find_registered_function(call, file, model.normalize_name(name))
    row: Row = before or model.new_function_row(
        call.project, store.new_function_id(), file, model.normalize_name(name), call.now
    )
    after: dict[str, Value] = {**row, **changed_fields}
    if requires is not None:
        after["requires"] = msgspec.json.encode(requires).decode()
    if not row["digest"]:  # a scan of the source knows better
        after |= {"line": line or row["line"], "signature": call.prepared or row["signature"]}
    after |= {
        "described_by": descriptions.choose_author(call, before, after),
        "described_at": call.now,
        "described_signature": after["signature"],
        "described_body": row["body"],
        "moved_from": "",
        "updated_at": call.now,
    }
    similar_functions = await similar.find_similar_functions(call, after)
    replaced = await descriptions.keep_replaced_text(call, before, after)
    await store.upsert_functions(call.tx, [(before, after)])
    call.subject = f"{row['id']} {row['name']}"
    call.emit(FUNCTION_REGISTERED, id=row["id"], name=row["name"])
    return model.RegisteredFunction(
        status="updated" if before else "registered",
        id=row["id"],
        queued_for_enrichment=model.queue_rank(after) > 0,
        replaced=replaced,
        similar=similar_functions,
    )


async def _find_registered_function(call: Call, file: str, name: str) -> Row | None:
    """Find the row with exactly this name, else the only one in the file that the name can mean."""
    rows = await store.list_functions_in_files(call.tx, call.project, [file])
    exact = [row for row in rows if row["name"] == name]
    matches = exact or [
        row for row in rows if row["state"] != "gone" and model.name_matches(name, row["name"])
    ]
    return matches[0] if len(matches) == 1 else None


@operation(
    "memory_find_function",
    role="readonly",
    prepare=prepare_question("query"),
    example={"query": "how do we retry?"},
    keywords="search helper, utility, code, reuse, avoid duplicate",
)
async def find_function(
    call: Call,
    query: model.FunctionQuery,
    project: str | None = None,
    include_shared: bool = True,
    limit: model.FunctionLimit = 5,
) -> model.FunctionSearchReply:
    """Find a function that exists already. Use it before you write one."""
    question = call.prepared if isinstance(call.prepared, Question) else Question(query)
    projects = list(dict.fromkeys([call.project, *([access.SHARED] if include_shared else [])]))
    hits = await find_entries(
        call.tx, call.search.vectors, question, projects, EntryFilter(call.now, (store.FUNCTION_KIND,))
    )
    candidates = [hit for hit in hits if is_near(hit, question)][: limit * 2]
    rows: dict[str, Row] = {}
    for scope in projects:
        rows |= await store.load_functions(
            call.tx, scope, [hit.id for hit in candidates if hit.project == scope]
        )
    matches = [(hit, rows[hit.id]) for hit in candidates if hit.id in rows]
    matches.sort(key=lambda pair: pair[1]["state"] == "gone")
    results = [
        model.FunctionMatch.from_row(row, hit.relevance, call.project, call.agent)
        for hit, row in matches[:limit]
    ]
    if not results:
        names = [hit.row["title"] for hit in hits[:_MAX_NEAREST_NAMES]]
        return model.FunctionSearchReply(
            result_count=0, results=[], message="Nothing relevant found.", nearest_names=names
        )
    return model.FunctionSearchReply(result_count=len(results), results=results)


@operation(
    "memory_enrich_function",
    writes=True,
    idempotent=True,
    example={"func_id": "func_000000000000", "search_summary": "Retries a call."},
    keywords="signature, call graph, side effects, describe",
)
async def enrich_function(
    call: Call,
    func_id: ids.Id,
    signature: model.FunctionText | None = None,
    parameters: model.FunctionParameters | None = None,
    returns: model.FunctionText | None = None,
    calls: model.FunctionTexts | None = None,
    called_by: model.FunctionTexts | None = None,
    side_effects: model.FunctionTexts | None = None,
    complexity: model.FunctionComplexity | None = None,
    additional_gotchas: model.FunctionTexts | None = None,
    search_summary: model.FunctionText | None = None,
    project: str | None = None,
) -> model.EnrichedFunction:
    """Add an analysis to a registered function; the fields that are passed replace the old ones."""
    fields_by_name = {
        "signature": signature,
        "parameters": parameters,
        "returns": returns,
        "calls": calls,
        "called_by": called_by,
        "side_effects": side_effects,
        "complexity": complexity,
        "additional_gotchas": additional_gotchas,
        "search_summary": search_summary,
    }
    fields = {name: value for name, value in fields_by_name.items() if value is not None}
    if not fields:
        raise errors.Invalid(
            "There is nothing to store.", hint="Pass at least one field, for example search_summary."
        )
    await lock_project(call.tx, call.project, "functions")
    row = await _load_function(call, func_id)
    after = {
        **row,
        "analysis": msgspec.json.encode(model.decode_analysis(row) | fields).decode(),
        "enriched_by": call.agent,
        "enriched_at": call.now,
        "enriched_signature": row["signature"],
        "enriched_body": row["body"],
        "updated_at": call.now,
    }
    await store.upsert_functions(call.tx, [(row, after)])
    call.subject = f"{row['id']} {row['name']}"
    call.emit(FUNCTION_ENRICHED, project=row["project"], id=row["id"])
    return model.EnrichedFunction(status="enriched", id=row["id"], name=row["name"], fields=list(fields))


async def _load_function(call: Call, id_prefix: str) -> Row:
    function_id = await ids.resolve_id(call.tx, "function", call.project, id_prefix)
    return (await store.load_functions(call.tx, call.project, [function_id]))[function_id]


@operation("memory_get_enrichment_queue", role="readonly", example={}, keywords="enrichment")
async def get_enrichment_queue(
    call: Call, project: str | None = None, limit: model.FunctionLimit = 20, offset: model.QueueOffset = 0
) -> model.EnrichmentQueue:
    """List functions that have no analysis yet."""
    rows, total = await store.list_queued_functions(call.tx, call.project, limit, offset)
    return model.EnrichmentQueue(
        pending_count=total, items=[model.QueuedFunction.from_row(row) for row in rows]
    )


@operation("memory_become_librarian", role="readonly", example={}, keywords="act as librarian")
async def become_librarian(
    call: Call, project: str | None = None, limit: model.FunctionLimit = 20, offset: model.QueueOffset = 0
) -> model.LibrarianAssignment:
    """Get undocumented functions with their code, and how to describe them."""
    rows, total = await store.list_queued_functions(call.tx, call.project, limit, offset)
    items = librarian.take_within_budget(rows)
    return model.LibrarianAssignment(
        project=call.project,
        unenriched_count=total,
        prompt=librarian.render_prompt(call, items),
        items=items,
        omitted=len(rows) - len(items),
    )


@operation("memory_list_functions", role="readonly", session=False, example={"project": "shop"})
async def list_functions(
    call: Call, project: str, cursor: model.FunctionCursor | None = None
) -> model.FunctionListing:
    """List every function: file, name, digest, lines."""
    return await list_function_page(call, cursor or "")


@operation("memory_sync_functions", writes=True, session=False, idempotent=True, example={"project": "shop"})
async def sync_functions(
    call: Call,
    project: str,
    functions: Annotated[
        scans.ScannedObjects | None, Field(description="Functions as scanned in the source.")
    ] = None,
    gone: Annotated[
        scans.GoneFunctions | None,
        Field(description="Functions that are no longer in the source, as file and name."),
    ] = None,
    lines: Annotated[
        scans.MovedLines | None, Field(description="Functions that moved, as file, name and line.")
    ] = None,
) -> model.SyncedFunctions:
    """For `commonplace librarian`."""
    scanned = scans.parse_scanned_functions(functions or [])
    for function in scanned:
        function.file = canonicalize_path(function.file, None)
    gone_functions = [(fields[0], fields[1]) for fields in gone or () if len(fields) == _GONE_FIELDS]
    moved_lines = [
        (str(fields[0]), str(fields[1]), int(fields[2]), int(fields[3]))
        for fields in lines or ()
        if len(fields) == _LINE_FIELDS
    ]
    await lock_project(call.tx, call.project, "functions")
    sync = FunctionSync(call.tx, call.project, call.now)
    await sync.mark_gone(gone_functions)
    await sync.update_scanned(scanned)
    await store.update_lines(call.tx, call.project, moved_lines)
    reply = model.SyncedFunctions(
        status="synced", added=sync.added, updated=sync.updated, moved=sync.moved, gone=sync.gone
    )
    call.subject = f"{sync.added} added, {sync.updated} updated, {sync.moved} moved, {sync.gone} gone"
    if sync.added or sync.updated or sync.moved or sync.gone:
        call.emit(FUNCTIONS_SYNCED, changed=call.subject)
    return reply
