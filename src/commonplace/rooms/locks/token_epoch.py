"""The epoch of fencing tokens: the upper bits of every token, so that no token is ever given twice.

A restored backup does not know the grants that were made after it. Restoring raises the epoch: every later token is
higher than every token that was given before.
"""

from collections import defaultdict

from commonplace.project import list_all_project_names
from commonplace.rooms.locks import store
from commonplace.store.database import Row, Tx

FIRST_EPOCH = store.FIRST_EPOCH


async def raise_token_epoch(tx: Tx, now: int) -> int:
    """Raise the epoch after a restore, and return it.

    The leases of the backup end, and their sessions are notified: another agent may have had their files since.
    """
    row = await tx.one("select value from setting where name = 'epoch'")
    epoch = (int(row["value"]) if row else FIRST_EPOCH) + 1
    await tx.queue(
        "insert into setting (name, value) values ('epoch', $1)"
        " on conflict (name) do update set value = excluded.value",
        str(epoch),
    )
    await _delete_all_leases(tx, now)
    return epoch


async def _delete_all_leases(tx: Tx, now: int) -> None:
    projects = await list_all_project_names(tx)
    ended: dict[str, list[Row]] = defaultdict(list)
    for row in await tx.all(
        "delete from lease where project = any($1) returning project, session, path", projects
    ):
        ended[row["project"]].append(row)
    for project, rows in ended.items():
        await store.notify_lapsed_holders(tx, project, rows, now)
