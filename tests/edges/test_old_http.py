"""HTTP/1.0, which nginx speaks to its upstreams unless it is told otherwise: an answer has no chunks and ends with its
connection."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import product
from patience import PATIENCE_SECONDS


class OldConnection:
    """One request by HTTP/1.0; what comes back is read as it is."""

    def __init__(self, server: product.Product, method: str, path: str, body: bytes = b"") -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS)
        fields = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._socket.sendall(f"{method} {path} HTTP/1.0\r\n{fields}\r\n".encode() + body)
        self._file = self._socket.makefile("rb")
        head = iter(self._file.readline, b"\r\n")
        self.status = int(next(head).split()[1])
        self.fields = dict(line.decode().lower().strip().split(": ", 1) for line in head)

    def read_event(self) -> list[str]:
        return [line.decode().strip() for line in iter(self._file.readline, b"\n")]

    def read_to_end(self) -> bytes:
        return self._file.read()

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@pytest.fixture
def server(address: Path | str, tmp_path: Path) -> Iterator[product.Product]:
    with product.running(*product.store_flags(address, tmp_path / "client")) as running:
        yield running


@pytest.mark.slow
def test_events_are_not_chunked_and_end_with_the_connection(server: product.Product):
    server.call("memory_start_session", project="shop", claude_instance="ann")
    stream = OldConnection(server, "GET", "/events?project=shop")
    assert (stream.status, stream.fields["connection"]) == (200, "close")
    assert stream.fields.keys().isdisjoint({"transfer-encoding", "content-length"})
    assert stream.read_event() == [": following"]
    server.call("memory_start_session", project="shop", claude_instance="ben")
    number, kind, content = stream.read_event()
    assert (number.partition(": ")[0], kind) == ("id", "event: SessionStarted")
    assert json.loads(content.removeprefix("data: "))["actor"] == "ben"
    assert server.stop() == 0
    assert b"0\r\n\r\n" not in stream.read_to_end()
    stream.close()


@pytest.mark.slow
def test_answers_of_known_length_have_it(server: product.Product):
    for method, path, body in (("GET", "/health", b""), ("POST", "/api/memory_health", b"{}")):
        answer = OldConnection(server, method, path, body)
        content = answer.read_to_end()
        assert (answer.status, answer.fields["connection"]) == (200, "close")
        assert int(answer.fields["content-length"]) == len(content)
        assert json.loads(content)
        answer.close()
