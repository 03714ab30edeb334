"""Full ids from prefixes."""

from typing import Annotated

from pydantic import Field

from commonplace import errors
from commonplace.store.database import Tx

SHORTEST = 8
_SHOWN = 5

Id = Annotated[str, Field(min_length=1, max_length=64)]


async def resolve_id(tx: Tx, table: str, project: str, given: str) -> str:
    """The full id in `table` for this prefix; an ambiguous prefix is refused with the candidates."""
    found = await find_ids_by_prefix(tx, table, [project], given)
    if not found:
        raise errors.NotFound(f"No '{given}' in project '{project}'.", hint="Check the id and the project.")
    return found[0][1]


async def find_ids_by_prefix(tx: Tx, table: str, projects: list[str], given: str) -> list[tuple[str, str]]:
    """The only id with this prefix as [(project, id)], or an empty list."""
    # Ids end in hex digits, and every collation sorts those before `g`.
    rows = await tx.all(
        f"select project, id from {table} where project = any($1) and id >= $2 and id < $3 order by id limit $4",
        projects,
        given,
        given + "g",
        _SHOWN,
    )
    project_of = {row["id"]: row["project"] for row in rows}
    identity = pick_id_by_prefix(given, list(project_of))
    return [(project_of[identity], identity)] if identity else []


def pick_id_by_prefix(given: str, known: list[str]) -> str | None:
    """The only one of these ids with this prefix, or None; several are refused."""
    if given in known:
        return given
    found = [identity for identity in known if identity.startswith(given)] if len(given) >= SHORTEST else []
    if len(found) > 1:
        raise errors.Conflict(
            f"'{given}' is the prefix of several ids.", hint="Pass a longer prefix.", candidates=found
        )
    return found[0] if found else None
