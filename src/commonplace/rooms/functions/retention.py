"""Retention of functions that are no longer in the source tree and that nobody described.

Their entries in the search index were removed when they vanished.
"""

from commonplace.retention import delete_from_table

GONE_FUNCTIONS = delete_from_table(
    "function",
    kind="gone_functions",
    old="state = 'gone' and updated_at < $2 and described_at is null and enriched_at is null",
    setting="function_days",
)
