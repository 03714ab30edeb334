"""Probes are answered as soon as their head is read; other requests wait for their turn of the event loop."""

import asyncio
from itertools import pairwise

import pytest
import uvicorn
from uvicorn.server import ServerState

from commonplace.edges.http.listener import MAX_REQUESTS_PER_TURN, BoundedHeadProtocol
from commonplace.edges.http.router import HttpApplication, Route


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


class Connection:
    """A client's connection to these public routes."""

    def __init__(self, routes: dict[str, Route]) -> None:
        app = HttpApplication(None, {}, routes)
        config = uvicorn.Config(app, http=BoundedHeadProtocol, ws="none", log_config=None)
        config.load()
        self.protocol = BoundedHeadProtocol(config=config, server_state=ServerState(), app_state={})
        self.transport = RecordingTransport()
        self.protocol.connection_made(self.transport)

    def send(self, head: str) -> None:
        self.protocol.data_received(
            f"{head} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n".encode()
        )

    @property
    def is_answered(self) -> bool:
        return b" 200 " in self.transport.sent[:20]


async def answer(_request, response) -> None:
    await response.send(200, b"here", content_type=b"text/plain")


@pytest.mark.parametrize(
    ("head", "is_answered"),
    [("GET /ready", True), ("GET /live", True), ("GET /docs", False), ("POST /ready", False)],
)
async def test_a_probe_does_not_wait_for_a_turn(head: str, is_answered: bool):
    routes = {"/ready": answer, "/live": answer, "/docs": answer}
    connection = Connection(routes)
    connection.send(head)
    assert connection.is_answered == is_answered
    await connection.transport.answered.wait()
    connection.protocol.connection_lost(None)


async def test_requests_that_arrive_at_once_are_started_in_turns_and_all_are_answered():
    connections = [Connection({"/docs": answer}) for _ in range(3 * MAX_REQUESTS_PER_TURN)]
    for connection in connections:
        connection.send("GET /docs")
    answered = []
    while not answered or answered[-1] < len(connections):
        await asyncio.sleep(0)
        answered.append(sum(connection.is_answered for connection in connections))
    assert max(after - before for before, after in pairwise([0, *answered])) <= MAX_REQUESTS_PER_TURN
    for connection in connections:
        connection.protocol.connection_lost(None)
