"""Retention of unused sessions, of what belongs to them, of notices that nobody read, and of workers that did not return."""

from commonplace.clock import DAY
from commonplace.retention import delete_from_table

_SETTING = "session_days"

SESSION_RULES = (
    delete_from_table("session", kind="sessions", at="active_at", setting=_SETTING),
    delete_from_table("session_key", kind="session_keys", setting=_SETTING),
    delete_from_table("agent_window", kind="windows", setting=_SETTING),
    delete_from_table("seat_name", kind="seats", key=("seat", "name"), setting=_SETTING),
    delete_from_table("handoff", kind="handoffs", at="created_at", setting=_SETTING),
    delete_from_table("notice", kind="notices", key=("session", "at", "id"), setting="notice_days"),
    delete_from_table(
        "agent", kind="workers", key=("name",), old="last_seen_at < $2 and tier = 'worker'", age=30 * DAY
    ),
)
