"""One row for every write and every refusal, in the transaction of the act itself."""

import secrets

from commonplace.access import Caller
from commonplace.store.database import Tx

_MAX_DETAIL_CHARACTERS = 500


async def insert_audit_row(
    tx: Tx, project: str, now: int, operation: str, outcome: str, agent: str, caller: Caller, detail: str
) -> None:
    await tx.run(
        "insert into audit (project, at, id, operation, outcome, agent, key_id, role, detail)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        project,
        now,
        secrets.token_hex(6),
        operation[:64],
        outcome,
        agent,
        caller.key,
        caller.role,
        detail[:_MAX_DETAIL_CHARACTERS],
    )
