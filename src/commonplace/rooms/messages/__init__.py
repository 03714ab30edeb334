"""Messages between agents: each recipient has a delivery with its own status."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.messages import contributes
from commonplace.rooms.messages.operations import (
    acknowledge_message,
    claim_message,
    get_messages,
    send_message,
    update_message_status,
)
from commonplace.rooms.messages.threads import list_threads, read_thread

ROOM = Room(
    name="messages",
    purpose=__doc__,
    toolset="work",
    operations=(send_message, get_messages, acknowledge_message, update_message_status, claim_message),
    program_operations=(contributes.list_inbox, list_threads, read_thread),
    boot_sections=(contributes.MESSAGES_SECTION, contributes.AWAITING_REPLY_SECTION),
    retention=(contributes.FINISHED_DELIVERIES, contributes.FINISHED_MESSAGES),
    resources=(contributes.INBOX,),
    finders={"msg_": contributes.find_message},
    search_sources=(contributes.SEARCH_SOURCE,),
    events=(contributes.MESSAGE_SENT, contributes.MESSAGE_UPDATED, contributes.MESSAGE_CLAIMED),
    agent_columns=declare_agent_columns(
        room=("message.sender", "message.addressed_to", "message.owner", "delivery.agent", "entry.readers"),
        never=("delivery.changed_by",),
    ),
    on_rename=(contributes.move_mail,),
)
