"""SQL of specs and their versions."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.access import SHARED
from commonplace.agent_names import AgentRename
from commonplace.store.database import Row, Tx

_SPEC_COLUMNS_AFTER_PROJECT = "name, id, owner, spec_type, version, n, created_at, updated_at"
_SPEC_COLUMNS = f"project, {_SPEC_COLUMNS_AFTER_PROJECT}"
_VERSION_COLUMNS_AFTER_PROJECT = (
    "name, n, version, owner, author, spec_type, content, json_schema, tags, created_at"
)
_VERSION_COLUMNS = f"project, {_VERSION_COLUMNS_AFTER_PROJECT}"
_MAX_LISTED_VERSIONS = 200
_MAX_READERS = 500


@dataclass(frozen=True, slots=True)
class SpecReader:
    """A session and the version that it read."""

    project: str
    session: str
    agent: str
    n: int
    version: str


async def load_spec(tx: Tx, project: str, name: str) -> Row | None:
    return await tx.one(f"select {_SPEC_COLUMNS} from spec where project = $1 and name = $2", project, name)


async def load_spec_by_id(tx: Tx, project: str, spec_id: str) -> Row | None:
    return await tx.one(f"select {_SPEC_COLUMNS} from spec where project = $1 and id = $2", project, spec_id)


async def load_latest_version(tx: Tx, spec: Row) -> Row:
    row = await tx.one(
        f"select {_VERSION_COLUMNS} from spec_version where project = $1 and name = $2 and n = $3",
        spec["project"],
        spec["name"],
        spec["n"],
    )
    return row or {}


async def list_latest_versions(tx: Tx, project: str, spec_ids: Sequence[str]) -> Sequence[Row]:
    """List the latest version of each of these specs, with its id, owner and time of creation."""
    return await tx.all(
        "select spec.id, spec.owner, spec.created_at as spec_created_at, latest.name, latest.version, latest.author,"
        " latest.spec_type, latest.content, latest.tags, latest.created_at from spec"
        " join spec_version as latest on latest.project = $1 and latest.name = spec.name and latest.n = spec.n"
        " where spec.project = $1 and spec.id = any($2)",
        project,
        list(spec_ids),
    )


async def load_version(tx: Tx, spec: Row, version: str) -> Row | None:
    return await tx.one(
        f"select {_VERSION_COLUMNS} from spec_version where project = $1 and name = $2 and version = $3",
        spec["project"],
        spec["name"],
        version,
    )


async def upsert_spec(
    tx: Tx, project: str, name: str, owner: str, spec_type: str, version: str, now: int
) -> Row:
    """Create the spec or set its latest version; return its row."""
    row = await tx.one(
        f"insert into spec (project, {_SPEC_COLUMNS_AFTER_PROJECT}) values ($1, $2, $3, $4, $5, $6, 1, $7, $7)"
        " on conflict (project, name) do update set owner = excluded.owner, spec_type = excluded.spec_type,"
        " version = excluded.version, n = spec.n + 1, updated_at = excluded.updated_at"
        f" returning {_SPEC_COLUMNS}",
        *(project, name, f"spec_{secrets.token_hex(6)}", owner, spec_type, version, now),
    )
    return row or {}


async def insert_version(
    tx: Tx, spec: Row, author: str, content: str, json_schema: str, tags: str, now: int
) -> None:
    await tx.run(
        f"insert into spec_version (project, {_VERSION_COLUMNS_AFTER_PROJECT}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
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


async def list_spec_rows(
    tx: Tx, projects: Sequence[str], spec_type: str | None, limit: int
) -> tuple[list[Row], int]:
    """The first specs of these projects by name, and how many there are."""
    found: list[Row] = []
    total = 0
    for project in projects:
        rows = await tx.all(
            f"select {_SPEC_COLUMNS}, count(*) over () as total from spec"
            " where project = $1 and (cast($2 as text) is null or spec_type = $2) order by name limit $3",
            *(project, spec_type, limit),
        )
        total += rows[0]["total"] if rows else 0
        found += rows
    return sorted(found, key=lambda row: (row["name"], row["project"]))[:limit], total


async def list_versions(tx: Tx, project: str, names: Sequence[str]) -> Sequence[Row]:
    """List the newest versions of each of these specs, newest first."""
    return await tx.all(
        "select project, name, n, version, owner, author, created_at from ("
        " select project, name, n, version, owner, author, created_at,"
        " row_number() over (partition by project, name order by n desc) as place"
        " from spec_version where project = $1 and name = any($2)) as numbered"
        " where place <= $3 order by name, n desc",
        *(project, list(names), _MAX_LISTED_VERSIONS),
    )


async def load_read_version(tx: Tx, spec: Row, reader: SpecReader) -> Row | None:
    """Return the version that this session last read, else the latest that another session of its agent read."""
    return await tx.one(
        "select session, n, version from spec_reader where project = $1 and name = $2 and session_project = $3"
        " and (session = $4 or agent = $5) order by case when session = $4 then 0 else 1 end, n desc limit 1",
        *(spec["project"], spec["name"], reader.project, reader.session, reader.agent),
    )


async def upsert_reader(tx: Tx, spec: Row, reader: SpecReader, now: int) -> None:
    await tx.run(
        "insert into spec_reader (project, name, session_project, session, agent, n, version, at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (project, name, session_project, session)"
        " do update set agent = excluded.agent, n = excluded.n, version = excluded.version, at = excluded.at",
        *(spec["project"], spec["name"], reader.project, reader.session),
        *(reader.agent, reader.n, reader.version, now),
    )


async def list_readers(tx: Tx, spec: Row, before: int) -> Sequence[Row]:
    """List who read a version of the spec before this number, the latest first."""
    return await tx.all(
        "select session_project, agent, version from spec_reader where project = $1 and name = $2 and n < $3"
        " order by at desc, session limit $4",
        *(spec["project"], spec["name"], before, _MAX_READERS),
    )


async def list_changed_since_read(
    tx: Tx, project: str, session_project: str, agent: str, limit: int
) -> Sequence[Row]:
    """List specs whose latest version the agent has neither read nor written, though it read an earlier one."""
    return await tx.all(
        "select spec.id, spec.name, spec.version, spec.owner, spec.updated_at, latest.content, latest.json_schema,"
        " read_version.version as read_version, read_version.content as read_content,"
        " read_version.json_schema as read_schema"
        " from (select name, max(n) as n from spec_reader"
        "  where project = $1 and session_project = $2 and agent = $3 group by name) as latest_read"
        " join spec on spec.project = $1 and spec.name = latest_read.name and spec.n > latest_read.n"
        " join spec_version as read_version on read_version.project = $1"
        "  and read_version.name = spec.name and read_version.n = latest_read.n"
        " join spec_version as latest on latest.project = $1 and latest.name = spec.name"
        "  and latest.n = spec.n and ($1 <> $2 or latest.author <> $3)"
        " order by spec.updated_at desc, spec.name limit $4",
        *(project, session_project, agent, limit),
    )


async def rename_reader(tx: Tx, rename: AgentRename) -> None:
    """What the renamed sessions read, and with the agent all that it ever read."""
    for project in (rename.project, SHARED):
        await tx.run(
            "update spec_reader set agent = $4 where project = $1 and session_project = $2 and agent = $3"
            " and ($5 = 1 or session = any($6))",
            *(project, rename.project, rename.old, rename.new, int(rename.moves_agent), rename.sessions),
        )
