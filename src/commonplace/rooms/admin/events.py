"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.admin.resources import KEYS

KEY_REVOKED = EventType("KeyRevoked", KEYS)
BROWSER_SIGNED_OUT = EventType("BrowserSignedOut", KEYS)
