"""The HTTP surface beside /mcp, through a real server process."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import product
from patience import PATIENCE_SECONDS, wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[product.Product]:
    with product.running("--data", str(tmp_path_factory.mktemp("data"))) as running:
        yield running


@pytest.fixture(scope="module")
def keyed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[product.Product]:
    with product.running("--data", str(tmp_path_factory.mktemp("data")), "--auth", "on") as running:
        yield running


def test_api_runs_an_operation(server: product.Product):
    reply = server.call("memory_start_session", project="My Shop", claude_instance="ann")
    assert reply["session_id"].startswith("my_shop_ann_")


def test_api_refuses_with_a_code_a_sentence_and_a_hint(server: product.Product):
    with pytest.raises(product.Refused) as refused:
        server.call("memory_start_session", projct="shop")
    assert refused.value.status == 400
    assert refused.value.body["error"] == "unknown_argument"
    assert "'project'" in refused.value.body["hint"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{", 400),
        (b'{"project": NaN}', 400),
        (b'{"project": "\xff"}', 400),
        (b'{"project": "a\\u0000b"}', 400),
        (b'{"project": "\\ud800"}', 400),
        (b"[" * 5000, 400),
        (b'{"project": ' + b"[" * 2000 + b"]" * 2000 + b"}", 400),
        (b'{"project": {"a": 1}}', 400),
    ],
    ids=range(10),
)
def test_hostile_bodies_are_refused_and_the_server_goes_on(server: product.Product, body: bytes, status: int):
    answered, reply, _ = server.request("POST", "/api/memory_start_session", body)
    assert (answered, set(json.loads(reply)) >= {"error", "message"}) == (status, True)
    assert server.call("memory_health")["status"] == "ok"


def test_body_of_too_many_values_is_refused(server: product.Product):
    body = b'{"project": [' + b"[]," * 2_000_000 + b"[]]}"
    status, reply, _ = server.request("POST", "/api/memory_start_session", body)
    assert (status, json.loads(reply)["error"]) == (400, "invalid")


def test_too_large_body_is_refused_before_it_is_read(server: product.Product):
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as client:
        client.sendall(
            b"POST /api/memory_health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 104857600\r\n\r\n"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 413")


SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
}
ANSWERED = [
    ("GET", "/health", 200),
    ("GET", "/ready", 200),
    ("GET", "/metrics", 200),
    ("GET", "/api", 200),
    ("GET", "/openapi.json", 200),
    ("POST", "/api/memory_health", 200),
    ("POST", "/api/memory_heartbeat", 404),
    ("GET", "/archives/w/s", 404),
    ("GET", "/events", 400),
    ("POST", "/mcp", 400),
    ("GET", "/mcp", 405),
    ("GET", "/nothing", 404),
]


@pytest.mark.parametrize(("method", "path", "status"), ANSWERED)
def test_every_route_sends_the_same_security_headers(
    server: product.Product, method: str, path: str, status: int
):
    answered, _, headers = server.request(method, path, b"{}" if method == "POST" else None)
    assert (answered, headers.items() >= SECURITY_HEADERS.items()) == (status, True)


VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
LISTEN_HEADERS = {"Mcp-Protocol-Version": VERSION, "Mcp-Method": "subscriptions/listen"}
LISTEN = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": True}, "_meta": META},
    }
).encode()


@pytest.mark.parametrize(
    ("method", "path", "body"), [("GET", "/events?project=shop", b""), ("POST", "/mcp", LISTEN)]
)
def test_every_stream_sends_them_too(server: product.Product, method: str, path: str, body: bytes):
    head = {"Content-Type": "application/json", "Accept": "text/event-stream", **LISTEN_HEADERS}
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    ) as client:
        client.request(method, path, body, head)
        response = client.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
    assert headers["content-type"] == "text/event-stream"
    assert headers.items() >= (SECURITY_HEADERS | {"cache-control": "no-store, no-transform"}).items()


@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization"])
@pytest.mark.parametrize("path", ["/mcp", "/api/memory_health", "/health"])
def test_header_that_decides_is_refused_when_it_is_repeated(server: product.Product, path: str, name: str):
    value = "127.0.0.1" if name == "Host" else "http://127.0.0.1"
    host = "" if name == "Host" else "Host: 127.0.0.1\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\n{host}{name}: {value}\r\n{name}: {value}\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.com"}, 403),
        ({"Origin": "http://localhost:80@evil.com"}, 403),
        ({"Host": "evil.example:8765"}, 421),
        ({"Origin": "http://localhost:3000"}, 403),
        ({}, 200),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/health", "/openapi.json", "/metrics"])
def test_foreign_hosts_and_origins_are_refused_on_every_route(
    server: product.Product, path: str, headers: dict[str, str], status: int
):
    assert server.request("GET", path, headers=headers)[0] == status


def test_no_answer_allows_other_origins_to_read_it(server: product.Product):
    _, _, headers = server.request(
        "OPTIONS", "/api/memory_health", headers={"Origin": "http://localhost:3000"}
    )
    assert "access-control-allow-origin" not in headers


# The page itself is public: it holds nothing, and asks for a key.
WALK = ["/api", "/api/memory_health", "/openapi.json", "/metrics", "/mcp", "/mcp/x/core", "/mcp/readonly", "/events", "/nothing"]  # fmt: skip


@pytest.mark.parametrize("path", WALK)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_without_a_key_every_route_is_refused(keyed_server: product.Product, method: str, path: str):
    body = b"{}" if method == "POST" else None
    status, _, headers = keyed_server.request(method, path, body, {"Content-Type": "application/json"})
    assert status == 401
    assert headers["www-authenticate"].startswith("Bearer")


def test_refusals_of_mcp_have_a_code_a_sentence_and_a_hint_too(server: product.Product, tmp_path: Path):
    with product.running("--data", str(tmp_path), "--auth", "on") as keyed_server:
        wrong = {"Authorization": "Bearer smk_wrong"}
        answers = [keyed_server.request("POST", "/mcp", b"{}", wrong) for _ in range(11)]
    answers += [server.request("GET", "/mcp"), server.request("POST", "/mcp/nothing/x/y", b"{}")]
    answers += [server.request("POST", "/mcp", b"{}", {"Content-Type": "text/plain"})]
    told = [(status, json.loads(body)) for status, body, _ in (answers[0], *answers[10:])]
    assert [(status, body["error"]) for status, body in told] == [
        (401, "unauthenticated"),
        (429, "too_many"),
        (405, "method_not_allowed"),
        (404, "not_found"),
        (415, "unsupported_media_type"),
    ]
    assert all(body["message"] and body["hint"] for _, body in told)
    assert 0 < int(answers[10][2]["retry-after"]) <= 60
    assert answers[11][2]["allow"] == "POST"


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_without_a_key_the_probes_answer(keyed_server: product.Product, path: str):
    assert keyed_server.request("GET", path)[0] == 200


def test_openapi_names_every_operation(server: product.Product):
    document = json.loads(server.request("GET", "/openapi.json")[1])
    assert document["paths"].keys() >= {"/api/memory_start_session", "/archives/{workspace_id}/{session_id}"}


def test_unknown_toolset_is_named_with_those_that_there_are(server: product.Product):
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    accepts = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    told = json.loads(server.request("POST", "/mcp/x/core,bogus", asked, accepts)[1])["error"]["message"]
    assert ("bogus" in told, "knowledge" in told) == (True, True)


def test_metrics_count_calls(server: product.Product):
    server.call("memory_health")
    text = server.request("GET", "/metrics")[1].decode()
    assert 'commonplace_calls_total{operation="memory_health",outcome="ok"}' in text


def test_unknown_route_and_method_say_what_there_is(server: product.Product):
    missing, wrong = server.request("GET", "/nothing"), server.request("GET", "/api/memory_health")
    assert (missing[0], wrong[0], wrong[2]["allow"]) == (404, 405, "POST")
    assert json.loads(missing[1])["error"] == "not_found"


def test_other_address_without_keys_refuses_to_start(tmp_path: Path):
    for flags in (["--auth", "off"], ["--auth", "on"]):
        started = product.subprocess.run(
            product.command("serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path), *flags),
            capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=product.environment(),
        )  # fmt: skip
        assert (started.returncode, "key create" in started.stderr) == (4, True)


def test_taken_port_is_refused_in_words(server: product.Product, tmp_path: Path):
    started = product.subprocess.run(
        product.command("serve", "--port", str(server.port), "--data", str(tmp_path)),
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=product.environment(),
    )  # fmt: skip
    assert (started.returncode, "--port" in started.stderr) == (8, True)


def test_client_that_goes_away_cancels_what_it_asked_for(server: product.Product):
    ann = server.call("memory_start_session", project="gone", claude_instance="ann")["session_id"]
    ben = server.call("memory_start_session", project="gone", claude_instance="ben")["session_id"]
    server.call("memory_lock_files", session_id=ann, files=["a.py"])
    asked = json.dumps({"session_id": ben, "files": ["a.py"], "wait_seconds": 60}).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as client:
        head = (
            f"POST /api/memory_lock_files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(asked)}\r\n\r\n"
        )
        client.sendall(head.encode() + asked)
        server.call("memory_heartbeat", session_id=ann)
    wait_until(
        lambda: b'operation="memory_lock_files",outcome="failed"' in server.request("GET", "/metrics")[1]
    )
    server.call("memory_unlock_files", session_id=ann)
    assert server.call("memory_get_locks", session_id=ben)["total_count"] == 0


def test_a_write_with_an_idempotency_key_is_carried_out_once_at_every_surface(server: product.Product):
    session = server.call("memory_start_session", project="retries", claude_instance="ann")["session_id"]
    arguments = {"session_id": session, "title": "pay"}
    meta = META | {"commonplace/idempotency_key": "a-random-text"}
    params = {"name": "memory_add_backlog_item", "arguments": arguments, "_meta": meta}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    mcp_headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "memory_add_backlog_item",
    }
    body = json.dumps(arguments).encode()
    path = "/api/memory_add_backlog_item"
    replies = [
        json.loads(server.request("POST", path, body, {"Idempotency-Key": "a-random-text"})[1]),
        server.call("memory_add_backlog_item", idempotency_key="a-random-text", **arguments),
        json.loads(
            json.loads(server.request("POST", "/mcp", message, mcp_headers)[1])["result"]["content"][0][
                "text"
            ]
        ),
    ]
    assert replies == [replies[0]] * 3
    listed = server.call("memory_list_backlog", session_id=session)["items"]
    assert [item["title"] for item in listed] == ["pay"]
