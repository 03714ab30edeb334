"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.messages.resources import INBOX

MESSAGE_SENT = EventType("MessageSent", INBOX)
MESSAGE_UPDATED = EventType("MessageUpdated", INBOX)
MESSAGE_CLAIMED = EventType("MessageClaimed", INBOX)
