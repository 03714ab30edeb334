"""SQL for guidelines. Global guidelines are rows of the project '*'."""

import secrets
from collections.abc import Sequence

from commonplace.store.database import Row, Tx

MAX_GUIDELINES_PER_SCOPE = 200
"""Every session start reads all of them."""

_GUIDELINE_COLUMNS = "project, name, id, rule, priority, updated_at, updated_by, enforce, enforced_by, hits, hit_at, created_at, confirmed_by"
_SELECT_GUIDELINE = f"select {_GUIDELINE_COLUMNS} from guideline"


async def list_guidelines_of_projects(
    tx: Tx, projects: Sequence[str], *, enforced_only: bool = False
) -> list[Row]:
    """The guidelines of these projects, or those that hooks enforce, by priority."""
    condition = " and enforce <> ''" if enforced_only else ""
    rows = [
        row
        for project in projects
        for row in await tx.all(
            f"{_SELECT_GUIDELINE} where project = $1{condition} limit $2", project, MAX_GUIDELINES_PER_SCOPE
        )
    ]
    return sorted(rows, key=lambda row: (row["priority"], row["name"], row["project"]))


async def find_guideline(tx: Tx, project: str, name: str) -> Row | None:
    return await tx.one(f"{_SELECT_GUIDELINE} where project = $1 and name = $2", project, name)


async def load_guidelines(tx: Tx, project: str, guideline_ids: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"{_SELECT_GUIDELINE} where project = $1 and id = any($2)", project, list(guideline_ids)
    )


async def count_guidelines(tx: Tx, project: str) -> int:
    row = await tx.one("select count(*) as n from guideline where project = $1", project)
    return int(row["n"]) if row else 0


async def upsert_guideline(
    tx: Tx,
    project: str,
    name: str,
    rule: str,
    priority: int,
    agent: str,
    now: int,
    enforce: str = "",
    confirmed_by: str = "",
) -> Row:
    """Add or replace a guideline. Without `enforce` what it enforces stays as it was, and so does who set that."""
    row = await tx.one(
        f"insert into guideline ({_GUIDELINE_COLUMNS})"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, case when $8 = '' then '' else $7 end, 0, 0, $6, $9)"
        " on conflict (project, name) do update set rule = excluded.rule, priority = excluded.priority,"
        " updated_at = excluded.updated_at, updated_by = excluded.updated_by, confirmed_by = excluded.confirmed_by,"
        " enforce = case when excluded.enforce = '' then guideline.enforce else excluded.enforce end,"
        " enforced_by = case when excluded.enforce = '' then guideline.enforced_by else excluded.enforced_by end"
        f" returning {_GUIDELINE_COLUMNS}",
        project,
        name,
        f"guideline_{secrets.token_hex(6)}",
        rule,
        priority,
        now,
        agent,
        enforce,
        confirmed_by,
    )
    assert row is not None  # noqa: S101 - an upsert without WHERE returns its row
    return row


async def count_rule_hit(tx: Tx, project: str, name: str, now: int) -> int:
    """Count that a rule has fired; return how many rules of this name there are in the project."""
    return await tx.run(
        "update guideline set hits = hits + 1, hit_at = $3 where project = $1 and name = $2 and enforce <> ''",
        project,
        name,
        now,
    )


async def renew_rule_version(tx: Tx, project: str) -> None:
    """Give the rules of the project another version, so that hooks are sent them."""
    await tx.run(
        "insert into rule_set (project, version) values ($1, $2)"
        " on conflict (project) do update set version = excluded.version",
        project,
        secrets.token_hex(4),
    )


async def list_rule_versions(tx: Tx, projects: Sequence[str]) -> dict[str, str]:
    statement = "select project, version from rule_set where project = $1"
    found = await tx.together(*((statement, project) for project in projects))
    return {row["project"]: row["version"] for rows in found for row in rows}


async def delete_guideline_row(tx: Tx, project: str, name: str) -> Row | None:
    """Delete the guideline and return its row; None if it does not exist."""
    return await tx.one(
        f"delete from guideline where project = $1 and name = $2 returning {_GUIDELINE_COLUMNS}",
        project,
        name,
    )
