"""Queries for the newest active documents of a project."""

from collections.abc import Sequence

from commonplace.store.database import Row, Tx

_ACTIVE_CLAUSE = "status = 'active' and (expires_at is null or expires_at > $2)"


async def list_newest_of_types(
    tx: Tx, project: str, now: int, types: Sequence[str], limit: int, since: int = 0
) -> Sequence[Row]:
    """Documents of these types since then, except those that read like instructions: nobody asked for them."""
    return await tx.all(
        "select project, id, type, title, content, author, status, flags, superseded_by, changed_at, expires_at from document"
        f" where project = $1 and {_ACTIVE_CLAUSE} and type = any($3) and flags not like '%instruction_like%'"
        " and created_at >= $5 order by created_at desc, id limit $4",
        project,
        now,
        list(types),
        limit,
        since,
    )


async def list_newest_documents(tx: Tx, project: str, now: int, limit: int) -> Sequence[Row]:
    return await tx.all(
        f"select id, title, type from document where project = $1 and {_ACTIVE_CLAUSE} order by created_at desc, id limit $3",
        project,
        now,
        limit,
    )


async def list_newest_titles(tx: Tx, project: str, now: int, limit: int) -> list[str]:
    rows = await tx.all(
        f"select title from document where project = $1 and {_ACTIVE_CLAUSE} order by created_at desc, id limit $3",
        project,
        now,
        limit,
    )
    return [row["title"] for row in rows]


async def list_documents_of_type(
    tx: Tx, project: str, now: int, kind: str, limit: int, author: str | None = None
) -> Sequence[Row]:
    return await tx.all(
        "select id, title, content, author, files, flags, created_at from document"
        f" where project = $1 and {_ACTIVE_CLAUSE} and type = $3 and (CAST($4 as text) is null or author = $4)"
        " order by created_at desc, id limit $5",
        project,
        now,
        kind,
        author,
        limit,
    )


async def list_changed_interfaces(tx: Tx, project: str, now: int, since: int, limit: int) -> Sequence[Row]:
    return await tx.all(
        "select id, title, interface_name, interface_version, interface_owner, changed_at from document"
        f" where project = $1 and {_ACTIVE_CLAUSE} and interface_name > '' and changed_at > $3"
        " order by changed_at desc limit $4",
        project,
        now,
        since,
        limit,
    )


async def list_agent_names(tx: Tx, project: str, limit: int) -> list[str]:
    rows = await tx.all("select name from agent where project = $1 order by name limit $2", project, limit)
    return [row["name"] for row in rows]
