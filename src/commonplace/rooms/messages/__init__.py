"""Messages between agents: each recipient has a delivery with its own status."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.messages.boot import AWAITING_REPLY_SECTION, MESSAGES_SECTION
from commonplace.rooms.messages.events import MESSAGE_CLAIMED, MESSAGE_SENT, MESSAGE_UPDATED
from commonplace.rooms.messages.finders import FINDERS
from commonplace.rooms.messages.operations import (
    acknowledge_message,
    claim_message,
    get_messages,
    send_message,
    update_message_status,
)
from commonplace.rooms.messages.renames import move_mail
from commonplace.rooms.messages.resources import INBOX, list_inbox
from commonplace.rooms.messages.retention import FINISHED_DELIVERIES, FINISHED_MESSAGES
from commonplace.rooms.messages.search import SEARCH_SOURCE
from commonplace.rooms.messages.threads import list_threads, read_thread

ROOM = Room(
    name="messages",
    purpose=__doc__,
    toolset="work",
    operations=(send_message, get_messages, acknowledge_message, update_message_status, claim_message),
    program_operations=(list_inbox, list_threads, read_thread),
    boot_sections=(MESSAGES_SECTION, AWAITING_REPLY_SECTION),
    retention=(FINISHED_DELIVERIES, FINISHED_MESSAGES),
    resources=(INBOX,),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(MESSAGE_SENT, MESSAGE_UPDATED, MESSAGE_CLAIMED),
    agent_columns=declare_agent_columns(
        room=("message.sender", "message.addressed_to", "message.owner", "delivery.agent", "entry.readers"),
        never=("delivery.changed_by",),
    ),
    on_rename=(move_mail,),
)
