"""What keys, audit and the page contribute to other parts of the server: a resource, events and retention."""

from collections.abc import Sequence

from commonplace import idempotency, retention
from commonplace.call import Call
from commonplace.events import EventType
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.retention import RetentionRule, Sweep
from commonplace.rooms.admin import audit_chain, audit_sealing, model, store
from commonplace.store.database import Tx

MAX_LISTED_KEYS = 50


@operation("resource:keys", role="owner", session=False)
async def read_keys(call: Call) -> model.ApiKeyListing:
    """The newest keys, without their secrets."""
    rows = [row for row in await store.list_all_keys(call.tx) if model.is_visible_key(call.caller, row)]
    return model.ApiKeyListing(
        total=len(rows), keys=[model.ApiKey.from_row(row, call.now) for row in rows[:MAX_LISTED_KEYS]]
    )


KEYS = Resource("keys://server", "Keys of this server", read_keys)


KEY_REVOKED = EventType("KeyRevoked", KEYS)
BROWSER_SIGNED_OUT = EventType("BrowserSignedOut", KEYS)


async def _find_projects(tx: Tx, _projects: Sequence[str], before: int, limit: int) -> set[str]:
    """Refused calls are recorded under the name that they gave, so any name can occur."""
    return await audit_chain.list_some_projects_with_old_rows(tx, before, limit)


async def _remove_rows(tx: Tx, batch: Sweep) -> int:
    return await audit_sealing.remove_oldest_audit_rows(
        tx, batch.project, batch.before, batch.now, batch.limit
    )


async def _count_rows(tx: Tx, batch: Sweep) -> int:
    return await audit_chain.count_audit_rows_before(tx, batch.project, batch.before)


AUDIT_RETENTION = RetentionRule(
    kind="audit", setting="audit_days", find_due=_find_projects, sweep=_remove_rows, count=_count_rows
)
ANSWER_RETENTION = retention.delete_from_table(
    "idempotency", kind="idempotency_keys", old="at <= $2", age=idempotency.KEPT_MICROSECONDS
)
BROWSER_SESSIONS = retention.delete_from_table(
    "browser_session", kind="browser_sessions", key=("hash",), at="expires_at"
)
