"""Webhooks: who waits for a person, and a daily standup, sent to Slack, ntfy or any address that an admin names."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.webhooks.operations import add_webhook, list_webhooks, remove_webhook, send_test
from commonplace.rooms.webhooks.retention import OLD_DELIVERIES

ROOM = Room(
    name="webhooks",
    purpose=__doc__,
    toolset="admin",
    operations=(),
    program_operations=(add_webhook, list_webhooks, remove_webhook, send_test),
    retention=(OLD_DELIVERIES,),
    agent_columns=declare_agent_columns(never=("webhook.created_by",)),
)
