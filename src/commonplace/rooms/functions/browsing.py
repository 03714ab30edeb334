"""Functions as a person browses them: by file, with callers and callees."""

from typing import Annotated

from pydantic import Field

from commonplace import errors
from commonplace.call import Call
from commonplace.operation import Reply, operation
from commonplace.rooms.functions import model, store
from commonplace.rooms.functions.similar import find_similar_functions
from commonplace.store.database import Row, Tx

BrowseLimit = Annotated[int, Field(ge=1, le=200)]
FileFilter = Annotated[
    str, Field(max_length=1024, description="Only functions whose file or name contains this text.")
]


class BrowsedFunction(Reply):
    id: str
    name: str
    file: str
    line: int = 0
    kind: str = ""
    signature: str = ""
    purpose: str = ""
    gotchas: str = ""
    complexity: int = 0
    calls: list[str] = []
    called_by: list[str] = []
    drift: list[str] = []
    clones: list[str] = []
    """Ids of functions whose body is the same."""


class FunctionPage(Reply):
    count: int
    functions: list[BrowsedFunction]
    next_offset: int = 0


@operation("memory_browse_functions", role="readonly", session="optional", example={"project": "shop"})
async def browse_functions(
    call: Call,
    project: str,
    path_pattern: FileFilter = "",
    limit: BrowseLimit = 100,
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0,
) -> FunctionPage:
    """List functions by file and line, those whose file or name contains the text."""
    del project
    rows = await _list_functions(call.tx, call.project, path_pattern, limit + 1, offset)
    page = rows[:limit]
    clones = await _list_clones(call.tx, call.project, [row["body"] for row in page if row["body"]])
    return FunctionPage(
        count=len(page),
        functions=[_build_function(row, clones.get(row["body"], [])) for row in page],
        next_offset=offset + limit if len(rows) > limit else 0,
    )


class SimilarFunctions(Reply):
    count: int
    functions: list[model.SimilarFunction]


@operation(
    "memory_list_similar_functions",
    role="readonly",
    session="optional",
    example={"project": "shop", "func_id": "func_000000000000"},
)
async def list_similar_functions(
    call: Call,
    project: str,
    func_id: Annotated[str, Field(min_length=8, max_length=64, description="The function's id.")],
) -> SimilarFunctions:
    """List the functions whose name and purpose are most like those of this one."""
    del project
    row = (await store.load_functions(call.tx, call.project, [func_id])).get(func_id)
    if row is None:
        raise errors.NotFound(f"There is no function '{func_id}'.")
    similar = await find_similar_functions(call, row)
    return SimilarFunctions(count=len(similar), functions=similar)


def _like_pattern(text: str) -> str:
    return f"%{text.lower().replace('!', '!!').replace('%', '!%').replace('_', '!_')}%"


async def _list_functions(tx: Tx, project: str, text: str, limit: int, offset: int) -> list[Row]:
    return list(
        await tx.all(
            "select * from function where project = $1 and state <> 'gone'"
            " and (lower(file) like $2 escape '!' or lower(name) like $2 escape '!')"
            " order by file, line, name limit $3 offset $4",
            project,
            _like_pattern(text),
            limit,
            offset,
        )
    )


async def _list_clones(tx: Tx, project: str, bodies: list[str]) -> dict[str, list[str]]:
    rows = await tx.all(
        "select id, body from function where project = $1 and state <> 'gone' and body = any($2) order by id limit 500",
        project,
        bodies,
    )
    clones: dict[str, list[str]] = {}
    for row in rows:
        clones.setdefault(row["body"], []).append(row["id"])
    return clones


def _build_function(row: Row, same_body: list[str]) -> BrowsedFunction:
    return BrowsedFunction(
        id=row["id"],
        name=row["name"],
        file=row["file"],
        line=row["line"] or 0,
        kind=row["kind"],
        signature=model.current_signature(row),
        purpose=model.describe_purpose(row),
        gotchas=model.join_gotchas(row),
        complexity=row["complexity"] or 0,
        calls=model.list_facts(row, "calls"),
        called_by=model.list_facts(row, "called_by"),
        drift=list(model.list_drift(row)),
        clones=[identity for identity in same_body if identity != row["id"]],
    )
