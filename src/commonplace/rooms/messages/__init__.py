"""Mail between agents: each recipient has a copy with a state of its own."""

from commonplace.rooms.messages.offers import finders, forget_finished, mail_section
from commonplace.rooms.messages.operations import (
    acknowledge_message,
    claim_message,
    get_messages,
    send_message,
    update_message_status,
)
from commonplace.rooms.messages.resources import INBOX

TOOLSET = "work"
OPERATIONS = (send_message, get_messages, acknowledge_message, update_message_status, claim_message)
BOOT_SECTIONS = (mail_section,)
FINDERS = finders
RESOURCES = (INBOX,)
SWEEPS = (forget_finished,)
