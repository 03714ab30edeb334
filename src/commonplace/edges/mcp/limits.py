"""What one client may cost. Every bound of the protocol edge stands here."""

import msgspec

from commonplace.edges.large import LARGEST


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    body_bytes: int = LARGEST
    depth: int = 64
    nodes: int = 100_000
    # Above this size parsing would be felt by everybody else on the event loop.
    parse_inline_bytes: int = 256 * 1024
    body_grace_seconds: float = 5.0
    body_bytes_per_second: int = 1024
    stalled_reader_seconds: float = 30.0
    keep_alive_seconds: float = 15.0
    session_seconds: int = 7 * 24 * 3600
    request_state_seconds: int = 600
    answer_seconds: float = 300.0
    listeners: int = 5_000
    uris_per_listener: int = 1_024
    sessions_in_memory: int = 4_096
    stdio_requests_at_once: int = 256
