"""Retention of audit rows, of the answers to idempotency keys and of sessions of the web page."""

from collections.abc import Sequence

from commonplace import idempotency, retention
from commonplace.retention import RetentionRule, Sweep
from commonplace.rooms.admin import audit_sealing, audit_store
from commonplace.store.database import Tx


async def _find_projects(tx: Tx, _projects: Sequence[str], before: int, limit: int) -> set[str]:
    """Refused calls are recorded under the name that they gave, so any name can occur."""
    return await audit_store.list_some_projects_with_old_rows(tx, before, limit)


async def _remove_rows(tx: Tx, batch: Sweep) -> int:
    return await audit_sealing.remove_oldest_audit_rows(
        tx, batch.project, batch.before, batch.now, batch.limit
    )


async def _count_rows(tx: Tx, batch: Sweep) -> int:
    return await audit_store.count_audit_rows_before(tx, batch.project, batch.before)


AUDIT_RETENTION = RetentionRule(
    kind="audit", setting="audit_days", find_due=_find_projects, sweep=_remove_rows, count=_count_rows
)
ANSWER_RETENTION = retention.delete_from_table(
    "idempotency", kind="idempotency_keys", old="at <= $2", age=idempotency.KEPT_MICROSECONDS
)
BROWSER_SESSIONS = retention.delete_from_table(
    "browser_session", kind="browser_sessions", key=("hash",), at="expires_at"
)
