"""Full ids from prefixes."""

from typing import Annotated

from pydantic import Field

from commonplace import errors
from commonplace.store.database import Tx

MIN_PREFIX_CHARACTERS = 8
_MAX_CANDIDATES = 5

Id = Annotated[str, Field(min_length=1, max_length=64)]


async def resolve_id(tx: Tx, table: str, project: str, prefix: str) -> str:
    """The full id in `table` for this prefix; an ambiguous prefix is refused with the candidates."""
    matches = await find_ids_by_prefix(tx, table, [project], prefix)
    if not matches:
        raise errors.NotFound(f"No '{prefix}' in project '{project}'.", hint="Check the id and the project.")
    return matches[0][1]


async def find_ids_by_prefix(tx: Tx, table: str, projects: list[str], prefix: str) -> list[tuple[str, str]]:
    """The only id with this prefix as [(project, id)], or an empty list."""
    # Ids end in hex digits, and every collation sorts those before `g`.
    rows = await tx.all(
        f"select project, id from {table} where project = any($1) and id >= $2 and id < $3 order by id limit $4",
        projects,
        prefix,
        prefix + "g",
        _MAX_CANDIDATES,
    )
    project_of = {row["id"]: row["project"] for row in rows}
    identity = pick_id_by_prefix(prefix, list(project_of))
    return [(project_of[identity], identity)] if identity else []


def pick_id_by_prefix(prefix: str, candidates: list[str]) -> str | None:
    """The only one of these ids with this prefix, or None; several are refused."""
    if prefix in candidates:
        return prefix
    matches = (
        [identity for identity in candidates if identity.startswith(prefix)]
        if len(prefix) >= MIN_PREFIX_CHARACTERS
        else []
    )
    if len(matches) > 1:
        raise errors.Conflict(
            f"'{prefix}' is the prefix of several ids.", hint="Pass a longer prefix.", candidates=matches
        )
    return matches[0] if matches else None
