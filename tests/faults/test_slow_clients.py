"""A client that says nothing costs only itself."""

import socket
from pathlib import Path

import product
from patience import PATIENCE_SECONDS


def test_silent_client_is_closed_and_others_are_served(tmp_path: Path):
    with (
        product.running("--data", str(tmp_path)) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as silent,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as dripping,
    ):
        dripping.sendall(b"POST /api/memory_health HTTP/1.1\r\nHost: 127")
        assert server.call("memory_health")["status"] == "ok"
        assert [_ended(silent), _ended(dripping)] == [True, True]
        assert server.call("memory_health")["status"] == "ok"


def _ended(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True
