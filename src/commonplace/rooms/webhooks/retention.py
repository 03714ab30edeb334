"""Retention of deliveries that nobody could send, such as those of a server that was away for days."""

from commonplace.clock import DAY
from commonplace.retention import delete_from_table

OLD_DELIVERIES = delete_from_table(
    "webhook_delivery", kind="webhook_deliveries", at="created_at", age=3 * DAY
)
