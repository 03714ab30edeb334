"""Find a function before you write it; register it when you have; keep what is known of it true."""

from typing import Annotated

import msgspec

from commonplace import access, errors, events
from commonplace.call import Call
from commonplace.operation import also, operation
from commonplace.rooms.functions import librarian, model, similar, store
from commonplace.rooms.functions.syncing import Sync
from commonplace.rooms.locks.paths import canonicalize_path
from commonplace.search.engine import asking
from commonplace.search.find import Question, find
from commonplace.search.wanted import Wanted
from commonplace.store import ids
from commonplace.store.database import Row, Value

_PAGE = 2000
_LINE_FIELDS = 4
_PLACE_FIELDS = 2


@operation(
    "memory_register_function",
    writes=True,
    idempotent=True,
    example={
        "name": "retry_with_backoff",
        "file_path": "src/net/retry.py:12",
        "purpose": "Call again after a failure, waiting longer each time.",
    },
)
async def register_function(
    call: Call,
    name: model.Name,
    file_path: Annotated[model.Place, also("file")],
    purpose: model.Purpose,
    project: str | None = None,
    gotchas: model.Text | None = None,
    prefer_over: model.Text | None = None,
    requires: model.Texts | None = None,
    code: model.Code | None = None,
) -> model.Registered:
    """Say what a function is for, so that others reuse it; `similar` names what exists."""
    await events.count(call.tx, call.project, "functions", 0)
    given, line = model.place(file_path)
    file = canonicalize_path(given, call.session.working_directory if call.session else None)
    texts = {"purpose": purpose, "gotchas": gotchas, "prefer_over": prefer_over, "code": code}
    written = {name: text for name, text in texts.items() if text is not None}
    before = await _known(call, file, model.spelled(name))
    row: Row = before or model.empty(call.project, store.made_id(), file, model.spelled(name), call.now)
    after: dict[str, Value] = {**row, **written}
    if requires is not None:
        after["requires"] = msgspec.json.encode(requires).decode()
    after |= {
        "line": row["line"] if row["digest"] else line or row["line"],
        "described_by": call.agent,
        "described_at": call.now,
        "described_signature": row["signature"],
        "described_body": row["body"],
        "moved_from": "",
        "updated_at": call.now,
    }
    near = await similar.to(call, after)
    await store.put(call.tx, [(before, after)])
    call.subject = f"{row['id']} {row['name']}"
    call.emit("FunctionRegistered", f"functions://{call.project}", id=row["id"], name=row["name"])
    return model.Registered(
        status="updated" if before else "registered",
        id=row["id"],
        queued_for_enrichment=model.queued(after) > 0,
        similar=near,
    )


async def _known(call: Call, file: str, name: str) -> Row | None:
    """The record of this very name, else the only one of the file that the name can mean."""
    rows = await store.in_files(call.tx, call.project, [file])
    exact = [row for row in rows if row["name"] == name]
    meant = exact or [row for row in rows if row["state"] != "gone" and model.means(name, row["name"])]
    return meant[0] if len(meant) == 1 else None


@operation(
    "memory_find_function", role="readonly", prepare=asking("query"), example={"query": "how do we retry?"}
)
async def find_function(
    call: Call,
    query: model.Query,
    project: str | None = None,
    include_shared: bool = True,
    limit: model.Limit = 5,
) -> model.Findings:
    """Find functions by purpose, name, signature or calls. Ask before writing one."""
    question = call.prepared if isinstance(call.prepared, Question) else Question(query)
    projects = list(dict.fromkeys([call.project, *([access.SHARED] if include_shared else [])]))
    hits = await find(call.tx, call.search.vectors, question, projects, Wanted(call.now, (store.KIND,)))
    near = hits[: limit * 2]
    rows: dict[str, Row] = {}
    for scope in projects:
        rows |= await store.by_ids(call.tx, scope, [hit.id for hit in near if hit.project == scope])
    there = [(hit, rows[hit.id]) for hit in near if hit.id in rows]
    there.sort(key=lambda pair: pair[1]["state"] == "gone")
    results = [model.Found.of(row, hit.relevance, call.project) for hit, row in there[:limit]]
    return model.Findings(
        result_count=len(results), results=results, message="" if results else "Nothing found."
    )


@operation(
    "memory_enrich_function",
    writes=True,
    idempotent=True,
    example={"func_id": "func_000000000000", "search_summary": "Retries a call."},
)
async def enrich_function(
    call: Call,
    func_id: ids.Id,
    signature: model.Text | None = None,
    parameters: model.Parameters | None = None,
    returns: model.Text | None = None,
    calls: model.Texts | None = None,
    called_by: model.Texts | None = None,
    side_effects: model.Texts | None = None,
    complexity: model.Complexity | None = None,
    additional_gotchas: model.Texts | None = None,
    search_summary: model.Text | None = None,
    project: str | None = None,
) -> model.Enriched:
    """Describe a function; given fields replace."""
    given = {
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
    fields = {name: value for name, value in given.items() if value is not None}
    if not fields:
        raise errors.Invalid("There is nothing to keep.", hint="Give at least one field of the analysis.")
    await events.count(call.tx, call.project, "functions", 0)
    row = await _by_id(call, func_id)
    after = {
        **row,
        "analysis": msgspec.json.encode(model.analysis(row) | fields).decode(),
        "enriched_by": call.agent,
        "enriched_at": call.now,
        "enriched_signature": row["signature"],
        "enriched_body": row["body"],
        "updated_at": call.now,
    }
    await store.put(call.tx, [(row, after)])
    call.subject = f"{row['id']} {row['name']}"
    call.emit("FunctionEnriched", f"functions://{row['project']}", project=row["project"], id=row["id"])
    return model.Enriched(status="enriched", id=row["id"], name=row["name"], fields=list(fields))


async def _by_id(call: Call, given: str) -> Row:
    identity = await ids.whole(call.tx, "function", call.project, given)
    return (await store.by_ids(call.tx, call.project, [identity]))[identity]


@operation("memory_get_enrichment_queue", role="readonly", example={})
async def get_enrichment_queue(
    call: Call, project: str | None = None, limit: model.Limit = 20, offset: model.Offset = 0
) -> model.Queue:
    """Functions still to be described."""
    rows, total = await store.waiting(call.tx, call.project, limit, offset)
    return model.Queue(pending_count=total, items=[model.Waiting.of(row) for row in rows])


@operation("memory_become_librarian", role="readonly", example={})
async def become_librarian(
    call: Call, project: str | None = None, limit: model.Limit = 20, offset: model.Offset = 0
) -> model.Duty:
    """The enrichment queue with sources and instructions."""
    rows, total = await store.waiting(call.tx, call.project, limit, offset)
    items = librarian.within_budget(rows)
    return model.Duty(
        project=call.project,
        unenriched_count=total,
        prompt=librarian.prompt(call, items),
        items=items,
        omitted=len(rows) - len(items),
    )


@operation("memory_list_functions", role="readonly", session=False, example={"project": "shop"})
async def list_functions(call: Call, project: str, cursor: str | None = None) -> model.Listing:
    """Every function: file, name, digest, lines."""
    file, _, name = (cursor or "").partition("\n")
    rows = await store.page(call.tx, call.project, (file, name), _PAGE + 1)
    shown = rows[:_PAGE]
    return model.Listing(
        count=len(shown),
        functions=[(row["file"], row["name"], row["digest"], row["line"], row["end_line"]) for row in shown],
        next_cursor=f"{shown[-1]['file']}\n{shown[-1]['name']}" if len(rows) > _PAGE else None,
    )


@operation("memory_sync_functions", writes=True, session=False, idempotent=True, example={"project": "shop"})
async def sync_functions(
    call: Call,
    project: str,
    functions: model.Objects | None = None,
    gone: model.Places | None = None,
    lines: model.Lines | None = None,
) -> model.Synced:
    """For `commonplace librarian`."""
    seen = model.scanned(functions or [])
    for each in seen:
        each.file = canonicalize_path(each.file, None)
    vanished = [(place[0], place[1]) for place in gone or () if len(place) == _PLACE_FIELDS]
    shifted = [
        (str(each[0]), str(each[1]), int(each[2]), int(each[3]))
        for each in lines or ()
        if len(each) == _LINE_FIELDS
    ]
    await events.count(call.tx, call.project, "functions", 0)
    sync = Sync(call.tx, call.project, call.now)
    await sync.vanish(vanished)
    await sync.see(seen)
    await store.move_lines(call.tx, call.project, shifted)
    reply = model.Synced(
        status="synced", added=sync.added, updated=sync.updated, moved=sync.moved, gone=sync.gone
    )
    call.subject = f"{sync.added} added, {sync.updated} updated, {sync.moved} moved, {sync.gone} gone"
    if sync.added or sync.updated or sync.moved or sync.gone:
        call.emit("FunctionsSynced", f"functions://{call.project}", changed=call.subject)
    return reply
