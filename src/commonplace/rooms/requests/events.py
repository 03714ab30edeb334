"""Events of this room."""

from commonplace.events import EventType
from commonplace.rooms.requests.resources import REQUESTS

REQUEST_OPENED = EventType("RequestOpened", REQUESTS)
REQUEST_ANSWERED = EventType("RequestAnswered", REQUESTS)
REQUEST_CLOSED = EventType("RequestClosed", REQUESTS)
