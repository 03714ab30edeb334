"""Subscriptions of older MCP clients that talk to several replicas: any of them may hold the stream."""

import http.client
import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import product
from patience import PATIENCE_SECONDS, wait_until

INBOX = "inbox://shop/backend"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class LegacyClient:
    """One session of MCP 2025-11-25 whose requests may go to any replica."""

    def __init__(self, server: product.Product) -> None:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        _, headers = self._post(server, "initialize", params, {})
        self.session = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}

    def request(self, server: product.Product, method: str, **params: Any) -> dict[str, Any]:
        reply, _ = self._post(server, method, params, self.session)
        return reply

    def _post(
        self, server: product.Product, method: str, params: dict[str, Any], headers: dict[str, str]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, body, answered = server.request(
            "POST", "/mcp", json.dumps(message).encode(), HEADERS | headers
        )
        assert status == 200, body
        return json.loads(body), answered

    def is_unknown(self, server: product.Product) -> bool:
        ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}).encode()
        return server.request("POST", "/mcp", ping, HEADERS | self.session)[0] == 404

    def open_stream(self, server: product.Product) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/mcp", headers={"Accept": "text/event-stream"} | self.session)
        return connection


def read_update(response: http.client.HTTPResponse) -> str:
    """The resource that the next notification is about."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        line = response.readline()
        if line.startswith(b"data: "):
            message = json.loads(line.removeprefix(b"data: "))
            assert message["method"] == "notifications/resources/updated"
            return str(message["params"]["uri"])
    raise AssertionError("no notification has come")


def test_subscription_through_one_replica_reaches_the_stream_on_another(postgres_dsn: str, tmp_path: Path):
    with (
        product.running(*product.store_flags(postgres_dsn, tmp_path / "one")) as one,
        product.running(*product.store_flags(postgres_dsn, tmp_path / "two")) as two,
    ):
        ann = two.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
        two.call("memory_start_session", project="shop", claude_instance="backend")
        client = LegacyClient(one)
        with closing(client.open_stream(one)) as connection:
            response = connection.getresponse()
            assert "error" not in client.request(two, "resources/subscribe", uri=INBOX)
            assert read_update(response) == INBOX  # the stream has learnt of it, and looks again
            two.call("memory_send_message", session_id=ann, to_instance="backend", message="hello")
            assert read_update(response) == INBOX
        with closing(client.open_stream(two)) as connection:
            response = connection.getresponse()
            assert read_update(response) == INBOX  # something may have changed between the streams
            two.call("memory_send_message", session_id=ann, to_instance="backend", message="again")
            assert read_update(response) == INBOX
            assert "error" not in client.request(one, "resources/unsubscribe", uri=INBOX)
        assert one.request("DELETE", "/mcp", headers=client.session)[0] == 200
        wait_until(lambda: client.is_unknown(two))


def test_subscription_survives_a_restart(tmp_path: Path):
    with product.running("--data", str(tmp_path)) as server:
        server.call("memory_start_session", project="shop", claude_instance="backend")
        client = LegacyClient(server)
        assert "error" not in client.request(server, "resources/subscribe", uri=INBOX)
        assert server.stop() == 0
    with product.running("--data", str(tmp_path)) as server:
        with closing(client.open_stream(server)) as connection:
            response = connection.getresponse()
            assert read_update(response) == INBOX
            ann = server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
            server.call("memory_send_message", session_id=ann, to_instance="backend", message="hello")
            assert read_update(response) == INBOX
        assert server.stop() == 0
