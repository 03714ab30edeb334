"""What one client may cost: every bound of the HTTP floor and of the MCP edge, in one frozen value.

Tests pass smaller ones. The bounds of operations (sizes of texts, numbers of items) stand with the rooms.
"""

import msgspec

MEGABYTE = 1024 * 1024


class ClientLimits(msgspec.Struct, frozen=True, kw_only=True):
    # The largest part of a transcript, 16 MB of text, with every other character escaped.
    body_bytes: int = 33 * MEGABYTE
    # A larger body must announce its length, and only a few of those are read at once.
    ordinary_body_bytes: int = 4 * MEGABYTE
    body_grace_seconds: float = 5.0
    bytes_per_second: int = 1024
    json_depth: int = 64
    json_values: int = 100_000
    # Decoding more than this would delay every other request on the event loop.
    decode_inline_bytes: int = 256 * 1024
    stalled_reader_seconds: float = 30.0
    keep_alive_seconds: float = 15.0
    drain_bytes: int = 128 * MEGABYTE
    drain_seconds: float = 30.0
    drain_idle_seconds: float = 2.0
    session_seconds: int = 7 * 24 * 3600
    request_state_seconds: int = 600
    answer_seconds: float = 300.0
    listeners: int = 5_000
    uris_per_listener: int = 1_024
    sessions_in_memory: int = 4_096
    stdio_requests_at_once: int = 256
