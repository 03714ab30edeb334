"""Retention of the records of claims of sessions that no longer exist. Items themselves are never deleted."""

from commonplace.retention import delete_from_table

ORPHANED_CLAIMS = delete_from_table(
    "backlog_claim",
    kind="backlog_claims",
    key=("session", "item_project", "item"),
    old="cast($2 as bigint) > 0 and not exists (select 1 from session"
    " where session.project = backlog_claim.project and session.id = backlog_claim.session)",
)
