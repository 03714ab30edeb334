"""Specs and all of their versions in the store."""

import secrets
from collections.abc import Sequence

from commonplace.store.database import Row, Tx

_SPEC_REST = "name, id, owner, spec_type, version, n, created_at, updated_at"
_SPEC = f"project, {_SPEC_REST}"
_VERSION_REST = "name, n, version, owner, author, spec_type, content, json_schema, tags, created_at"
_VERSION = f"project, {_VERSION_REST}"
_VERSIONS_SHOWN = 200


async def one(tx: Tx, project: str, name: str) -> Row | None:
    return await tx.one(f"select {_SPEC} from spec where project = $1 and name = $2", project, name)


async def by_id(tx: Tx, project: str, identity: str) -> Row | None:
    return await tx.one(f"select {_SPEC} from spec where project = $1 and id = $2", project, identity)


async def latest(tx: Tx, spec: Row) -> Row:
    row = await tx.one(
        f"select {_VERSION} from spec_version where project = $1 and name = $2 and n = $3",
        spec["project"],
        spec["name"],
        spec["n"],
    )
    return row or {}


async def at_version(tx: Tx, spec: Row, version: str) -> Row | None:
    return await tx.one(
        f"select {_VERSION} from spec_version where project = $1 and name = $2 and version = $3",
        spec["project"],
        spec["name"],
        version,
    )


async def put(tx: Tx, project: str, name: str, owner: str, spec_type: str, version: str, now: int) -> Row:
    """The spec with this as its latest version."""
    row = await tx.one(
        f"insert into spec (project, {_SPEC_REST}) values ($1, $2, $3, $4, $5, $6, 1, $7, $7)"
        " on conflict (project, name) do update set owner = excluded.owner, spec_type = excluded.spec_type,"
        " version = excluded.version, n = spec.n + 1, updated_at = excluded.updated_at"
        f" returning {_SPEC}",
        *(project, name, f"spec_{secrets.token_hex(6)}", owner, spec_type, version, now),
    )
    return row or {}


async def add_version(
    tx: Tx, spec: Row, author: str, content: str, json_schema: str, tags: str, now: int
) -> None:
    await tx.run(
        f"insert into spec_version (project, {_VERSION_REST}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        *(
            spec["project"],
            spec["name"],
            spec["n"],
            spec["version"],
            spec["owner"],
            author,
            spec["spec_type"],
        ),
        *(content, json_schema, tags, now),
    )


async def listed(
    tx: Tx, projects: Sequence[str], spec_type: str | None, limit: int
) -> tuple[Sequence[Row], int]:
    where = "project = any($1) and (cast($2 as text) is null or spec_type = $2)"
    rows = await tx.all(
        f"select {_SPEC}, count(*) over () as total from spec where {where} order by name, project limit $3",
        list(projects),
        spec_type,
        limit,
    )
    return rows, int(rows[0]["total"]) if rows else 0


async def versions(tx: Tx, projects: Sequence[str], names: Sequence[str]) -> Sequence[Row]:
    """The history of these specs, newest first; the newest of each are always among them."""
    return await tx.all(
        "select project, name, n, version, owner, author, created_at from ("
        " select project, name, n, version, owner, author, created_at,"
        " row_number() over (partition by project, name order by n desc) as place"
        " from spec_version where project = any($1) and name = any($2)) as numbered"
        " where place <= $3 order by name, n desc",
        list(projects),
        list(names),
        _VERSIONS_SHOWN,
    )
