"""What strangers send before they are anybody: huge heads, odd numbers, pages of other sites. Nothing may cost memory."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import product
from patience import PATIENCE_SECONDS

MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[product.Product]:
    with product.running("--data", str(tmp_path_factory.mktemp("data"))) as running:
        yield running


def send_bytes(server: product.Product, request: bytes) -> bytes:
    """What the server answers until it closes the connection; it may close before everything is sent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as connection:
        answer = b""
        try:
            connection.sendall(request)
            while part := connection.recv(65536):
                answer += part
        except ConnectionError:
            pass
        return answer


def build_head(*fields: bytes, method: bytes = b"GET", path: bytes = b"/health") -> bytes:
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close", *fields, b"", b""]
    return b"\r\n".join(lines)


LARGE_HEADS = {
    "one large field": build_head(b"Origin: http://" + b"a" * 5 * MEGABYTE),
    "many small fields": build_head(*[b"X-%d: 1" % n for n in range(100_000)]),
    "a few fields too many": build_head(*[b"X-%d: 1" % n for n in range(150)]),
    "a long path": build_head(path=b"/" + b"a" * MEGABYTE),
    "a head that never ends": build_head()[:-4] + b"\r\nX: " + b"a" * MEGABYTE,
}


@pytest.mark.parametrize("head", LARGE_HEADS.values(), ids=LARGE_HEADS)
def test_large_head_is_refused(server: product.Product, head: bytes):
    answer = send_bytes(server, head)
    is_short = len(head) < 32 * 1024
    if answer or is_short:  # of a long one the reset may overtake the answer
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "head_too_large"
    assert server.call("memory_health")["status"] == "ok"


def test_what_is_no_request_is_refused_in_the_shape_of_refusals(server: product.Product):
    answer = send_bytes(server, b"\x16\x03\x01\x02\x00\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "invalid"


def test_trailers_are_bounded_like_a_head(server: product.Product):
    body = b"2\r\n{}\r\n0\r\nX-Trailer: " + b"a" * 5 * MEGABYTE + b"\r\n\r\n"
    fields = (b"Transfer-Encoding: chunked", b"Content-Type: application/json")
    send_bytes(server, build_head(*fields, method=b"POST", path=b"/api/memory_health") + body)
    assert server.call("memory_health")["status"] == "ok"


LARGE_NAME = json.dumps({"project": "x" * 15 * MEGABYTE}).encode()


def send_hostile_requests(server: product.Product, times: int) -> None:
    for _ in range(times):
        send_bytes(server, LARGE_HEADS["one large field"])
        send_bytes(server, LARGE_HEADS["many small fields"])
        server.request("POST", "/api/memory_start_session", LARGE_NAME)


def test_refused_requests_leave_no_memory_behind(server: product.Product):
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    send_hostile_requests(server, 8)
    for _ in range(20):  # what the last of them left is collected as work goes on
        server.call("memory_list_projects")
    assert process.memory_info().rss < 1.1 * before


NUMBERS = ["²", "9" * 5000, "9" * 25, "-1", "1e3", "٣", "0x10", " 1"]


@pytest.mark.parametrize("number", NUMBERS)
def test_odd_number_is_refused_or_ignored(server: product.Product, number: str):
    quoted = "".join(f"%{byte:02X}" for byte in number.encode())[:9000]
    requests = [
        ("GET", f"/archives/a/b?to={quoted}", b"", {}),
        ("GET", f"/archives/a/b?from={quoted}", b"", {}),
        ("POST", "/api/memory_list_backlog", json.dumps({"project": "shop", "offset": number}).encode(), {}),
        ("POST", "/api/get_context", json.dumps({"session_id": "s", "after": number}).encode(), {}),
        ("POST", "/api/read_knowledge", json.dumps({"workspace_id": "a-b-c", "path": "x", "version": number}).encode(), {}),
    ]  # fmt: skip
    for method, path, body, headers in requests:
        status, reply, _ = server.request(method, path, body, headers)
        assert status < 500, (path[:40], reply[:200])


@pytest.mark.parametrize("number", ["\xb2", "9" * 5000, "9" * 25])
def test_odd_last_event_id_does_not_break_the_stream(server: product.Product, number: str):
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(
            build_head(b"Last-Event-ID: " + number.encode("latin-1"), path=b"/events?project=shop")
        )
        received = connection.recv(4096)
        while b"event: reset" not in received:
            received += connection.recv(4096)
        assert received.startswith(b"HTTP/1.1 200 ")


OWN = "http://127.0.0.1:{port}"
FOREIGN_PAGES = {
    "another port": {"Origin": "http://127.0.0.1:3000"},
    "localhost": {"Origin": "http://localhost:5173"},
    "no port": {"Origin": "http://localhost"},
    "another site": {"Origin": "https://evil.example"},
    "a sandbox": {"Origin": "null"},
    "an image": {"Sec-Fetch-Site": "cross-site"},
    "an image of another port": {"Sec-Fetch-Site": "same-site"},
    "a lie about the site": {"Origin": OWN, "Sec-Fetch-Site": "cross-site"},
    "a frame": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
}
FOLLOWED_LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize("page", FOREIGN_PAGES.values(), ids=FOREIGN_PAGES)
def test_page_of_another_origin_reaches_nothing(server: product.Product, page: dict[str, str]):
    headers = {name: value.format(port=server.port) for name, value in page.items()}
    for method, path in (
        ("POST", "/api/memory_health"),
        ("POST", "/mcp"),
        ("GET", "/openapi.json"),
        ("GET", "/health"),
    ):
        status, reply, _ = server.request(method, path, b"{}", headers | {"Content-Type": "application/json"})
        assert (status, json.loads(reply)["error"]) == (403, "foreign_origin")


@pytest.mark.parametrize("path", ["/", "/work?project=shop"])
def test_link_of_another_site_opens_a_page(server: product.Product, path: str):
    status, body, _ = server.request("GET", path, headers=FOLLOWED_LINK)
    assert (status, body[:15]) == (200, b"<!doctype html>")


@pytest.mark.parametrize("path", ["/openapi.json", "/metrics", "/events?project=shop"])
def test_link_of_another_site_opens_nothing_but_pages(server: product.Product, path: str):
    assert server.request("GET", path, headers=FOLLOWED_LINK)[0] == 403


def test_host_that_is_not_allowed_is_named(server: product.Product):
    status, body, _ = server.request("GET", "/health", headers={"Host": "memory.example:8443"})
    assert (status, json.loads(body)) == (
        421,
        {
            "error": "foreign_origin",
            "message": "The host 'memory.example:8443' is not allowed.",
            "hint": "The operator can allow it with --allowed-hosts memory.example:8443",
        },
    )


def test_own_page_may_call(server: product.Product):
    headers = {
        "Origin": OWN.format(port=server.port),
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/json",
    }
    assert server.request("POST", "/api/memory_health", b"{}", headers)[0] == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
@pytest.mark.parametrize("path", ["/api/memory_health", "/mcp"])
def test_only_json_is_taken(server: product.Product, path: str, kind: str):
    status, reply, _ = server.request("POST", path, b"{}", {"Content-Type": kind})
    assert (status, json.loads(reply)["error"]) == (415, "unsupported_media_type")


def test_long_completion_is_answered_with_nothing(tmp_path: Path):
    arguments = {
        "ref": {"type": "ref/prompt", "name": "x"},
        "argument": {"name": "project", "value": "x" * 5000},
    }
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "completion/complete",
        "params": {**arguments, "_meta": meta},
    }
    with product.running("--data", str(tmp_path)) as server:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "completion/complete"}  # fmt: skip
        _, reply, _ = server.request("POST", "/mcp", json.dumps(message).encode(), headers)
        assert json.loads(reply)["result"]["completion"] == {"values": []}, reply
