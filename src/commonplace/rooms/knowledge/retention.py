"""Retention of documents: marks expired ones, and deletes old rows about what sessions were shown."""

from collections.abc import Sequence

from commonplace.retention import RetentionRule, Sweep, delete_from_table
from commonplace.rooms.knowledge import expired_documents
from commonplace.store.database import Tx


async def _find_projects(tx: Tx, projects: Sequence[str], before: int, limit: int) -> set[str]:
    return await expired_documents.list_some_projects_with_expired_documents(tx, projects, before, limit)


async def _mark_documents(tx: Tx, batch: Sweep) -> int:
    return await expired_documents.mark_expired_documents(tx, batch.project, batch.now, batch.limit)


async def _count_documents(tx: Tx, batch: Sweep) -> int:
    return await expired_documents.count_expired_documents(tx, batch.project, batch.now)


EXPIRED_DOCUMENTS = RetentionRule(
    kind="expired_documents", find_due=_find_projects, sweep=_mark_documents, count=_count_documents
)
SERVED_DOCUMENTS = delete_from_table(
    "served", kind="served_documents", key=("session", "document"), setting="notice_days"
)
