"""Probes are answered as soon as their head is read; other requests wait for their turn of the event loop."""

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from commonplace.edges.http.listener import BoundedHeadProtocol
from commonplace.edges.http.router import HttpApplication


class RecordingTransport(asyncio.Transport):
    """The other end of a connection: what it was sent."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 80)})
        self.sent = b""
        self.answered = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.sent += data
        self.answered.set()

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


async def answer(_request, response) -> None:
    await response.send(200, b"here", content_type=b"text/plain")


@pytest.mark.parametrize(
    ("head", "is_answered"),
    [("GET /ready", True), ("GET /live", True), ("GET /docs", False), ("POST /ready", False)],
)
async def test_a_probe_does_not_wait_for_a_turn(head: str, is_answered: bool):
    routes = {"/ready": answer, "/live": answer, "/docs": answer}
    config = uvicorn.Config(
        HttpApplication(None, {}, routes), http=BoundedHeadProtocol, ws="none", log_config=None
    )
    config.load()
    protocol = BoundedHeadProtocol(config=config, server_state=ServerState(), app_state={})
    transport = RecordingTransport()
    protocol.connection_made(transport)
    protocol.data_received(f"{head} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n".encode())
    assert (b" 200 " in transport.sent[:20]) == is_answered
    await transport.answered.wait()
    protocol.connection_lost(None)
