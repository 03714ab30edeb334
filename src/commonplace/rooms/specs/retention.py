"""Retention of the records of who read a spec. Specs and their versions are never deleted."""

from commonplace.retention import delete_from_table

OLD_READERS = delete_from_table(
    "spec_reader", kind="spec_readers", key=("name", "session_project", "session"), setting="session_days"
)
