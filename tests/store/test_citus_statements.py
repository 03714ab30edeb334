"""On a real Citus: every statement that the product sent during other tests touches one shard.

`make citus DSN=...` runs the suites of the store and the rooms, which write their statements into a file, and then this.
"""

import json
import os
from pathlib import Path

import asyncpg
import pytest

from citus_cluster import CitusCluster

STATEMENTS = os.environ.get("TEST_STATEMENTS", "")
pytestmark = pytest.mark.skipif(
    not (STATEMENTS and os.environ.get("TEST_CITUS_DSN")), reason="make citus DSN=... names a cluster"
)

_SWEEP = "background work looks for the projects where something is due"
_SHARED = "what a project and the shared one have"
_MANY = "the caller asks about several projects"
_OPERATOR = "an operator asks about everything"
ACROSS_PROJECTS = {
    "identity/session.py:_load_row": _SHARED,
    "retention.py:find_due": _SWEEP,
    "rooms/admin/audit_chain.py:list_sealed_projects": _SWEEP,
    "rooms/admin/audit_chain.py:list_some_projects_with_old_rows": _SWEEP,
    "rooms/admin/store.py:count_live_sessions_and_locks": _OPERATOR,
    "rooms/admin/store.py:list_audit_rows": _OPERATOR,
    "rooms/agent_memory/store.py:list_owners_with_expired_entries": _SWEEP,
    "rooms/archives/scrub.py:count_rows_with_text": _OPERATOR,
    "rooms/blackboard/store.py:list_some_idle_projects": _SWEEP,
    "rooms/knowledge/store.py:find_identical_ids": _SHARED,
    "rooms/knowledge/store.py:list_document_counts": _OPERATOR,
    "rooms/knowledge/store.py:list_indexed_projects": _SWEEP,
    "rooms/knowledge/store.py:list_projects_with_expired_documents": _SWEEP,
    "rooms/messages/store.py:list_some_projects_with_delivered_messages": _SWEEP,
    "rooms/projects/store.py:count_active_sessions": _MANY,
    "rooms/projects/store.py:delete_project_rows": _OPERATOR,
    "rooms/projects/store.py:summarize_live_sessions": _MANY,
    "rooms/projects/store.py:summarize_rosters": _MANY,
    "rooms/webhooks/store.py:has_webhook_for_requests": _SHARED,
    "rooms/webhooks/store.py:list_webhooks": _MANY,
    "rooms/webhooks/store.py:queue_request": _SHARED,
    "rooms/workspaces/store.py:list_visible_projects": _MANY,
    "rooms/workspaces/store.py:_claim_free_id": "a name that several workspaces have",
    "search/embedder.py:load_model_in_use": _SWEEP,
    "search/index.py:_load_batch": _SWEEP,
    "search/index.py:count_queued_entries": _OPERATOR,
}
"""The functions whose statements may ask several shards, with the reason. Every other statement is of one project."""


async def test_every_statement_touches_one_shard(citus_cluster: CitusCluster):
    tasks, refused, callers = dict[str, int](), dict[str, str](), dict[str, str]()
    for line in Path(STATEMENTS).read_text().splitlines():  # noqa: ASYNC240 - nothing else runs here
        caller, sql, example = json.loads(line)
        if caller.startswith("store/migrate.py"):
            continue  # of a new database, which is distributed after it
        callers.setdefault(sql, caller)
        try:
            tasks[sql] = max(tasks.get(sql, 0), await citus_cluster.count_tasks(example))
        except asyncpg.PostgresError as refusal:
            refused[sql] = f"{caller}: {refusal}"
    spread = {
        sql: (callers[sql], count)
        for sql, count in tasks.items()
        if count > 1 and callers[sql] not in ACROSS_PROJECTS
    }
    assert callers
    assert (refused, spread) == ({}, {})
