"""Retention of checkouts: as long as the edits of their sessions are remembered."""

from commonplace.retention import delete_from_table

ENDED_CHECKOUTS = delete_from_table(
    "checkout",
    kind="checkouts",
    key=("session",),
    old="not exists (select 1 from session where session.project = checkout.project"
    " and session.id = checkout.session and coalesce(session.ended_at, session.active_at) > $2)",
    setting="work_days",
)
