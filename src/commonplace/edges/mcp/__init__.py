"""The Model Context Protocol, both eras of it, over HTTP and stdio.

A small core of its own. It knows nothing of what it serves: the product is a `Host` (host.py).

    host.py          what the core asks of the product, and what it tells it about a request
    http.py          both eras over streamable HTTP: body.py reads, exchange.py answers; request.py,
                     views.py and headers.py know what stands around the body
    stdio.py         both eras on one pipe; lines.py is the pipe
    gate.py          bytes -> one JSON-RPC message, nothing hostile
    messages.py      JSON-RPC: versions, codes, the bytes of a reply; settle.py: exactly one per request
    methods.py       the methods both eras share
    modern.py        2026-07-28: each request stands alone
    legacy.py        2025-11-25 and older; sessions.py and session_token.py: a session any replica can
                     serve; questions.py: what we ask the client meanwhile
    publisher.py     who listens to what
    seal.py          what a client carries for us and cannot change
    limits.py        every bound
"""

from commonplace.edges.mcp.host import (
    Context,
    Host,
    InputRequired,
    MirroredParameter,
    Page,
    Refused,
    ResourceNotFound,
    ToolResult,
    Unauthorized,
    UnknownName,
    View,
)
from commonplace.edges.mcp.http import McpHttp
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import ProtocolError
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.mcp.stdio import serve_stdio

__all__ = [
    "Context",
    "Host",
    "InputRequired",
    "Limits",
    "McpHttp",
    "MirroredParameter",
    "Page",
    "ProtocolError",
    "Publisher",
    "Refused",
    "ResourceNotFound",
    "ToolResult",
    "Unauthorized",
    "UnknownName",
    "View",
    "serve_stdio",
]
