"""Retention of requests: who answered what stays in the audit log."""

from commonplace.clock import DAY
from commonplace.retention import delete_from_table

OLD_REQUESTS = delete_from_table("person_request", kind="requests", at="changed_at", age=30 * DAY)
