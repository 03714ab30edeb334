"""How long a hook waits for the first answer of the server, by event and distance.

A server on this machine gets 0.3 seconds. A remote one gets what its measured answers call for (`server_record.py`), up
to the limit of the event. COMMONPLACE_HOOKS_SECONDS replaces all of this by one number.
"""

from commonplace.client.companion.hook_event import EventKind
from commonplace.client.companion.server_record import ServerRecord
from commonplace.client.link import remote

_LOCAL_SECONDS = 0.3
_MAX_SECONDS = 1.0
_MAX_START_SECONDS = 3.0
"""At the start of a session people wait anyway, and the boot pack is worth it."""
_ROUND_TRIPS = 6
"""Connection, TLS and the call are three or four; the rest is for variation."""


def is_remote(url: str) -> bool:
    """Whether the server is elsewhere. A server does not speak TLS itself, so https on loopback is a tunnel."""
    return url.startswith("https:") or not remote.is_local_url(url)


def wait_seconds(kind: EventKind, url: str, record: ServerRecord) -> float:
    answer_seconds = record.answer_seconds()
    if not is_remote(url):
        # A tunnel looks local until its answers take longer.
        return min(_MAX_SECONDS, _LOCAL_SECONDS + _ROUND_TRIPS * (answer_seconds or 0.0))
    longest = _MAX_START_SECONDS if kind == "session_start" else _MAX_SECONDS
    if answer_seconds is None:
        return longest
    return min(longest, _LOCAL_SECONDS + _ROUND_TRIPS * answer_seconds)
