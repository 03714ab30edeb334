"""Bodies beyond the ordinary size: a few at a time are read, and a refusal reaches the client that still sends."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

import product
from commonplace import errors
from commonplace.edges.http.request import BodyBound
from commonplace.edges.limits import ClientLimits
from patience import PATIENCE_SECONDS

LARGEST, ORDINARY = ClientLimits().body_bytes, ClientLimits().ordinary_body_bytes
LARGE = str(ORDINARY + 1)
TEXT = '{"role":"user","content":"' + "na " * 1_800_000 + '"}\n'
FIFTY_MEGABYTES = 50 * 1024 * 1024


@pytest.fixture
def target(tmp_path, request):
    """The server, and how a client reaches it."""
    with product.running("--data", str(tmp_path)) as server:
        command = product.command("stdio", "--data", str(tmp_path))
        stdio = StdioServerParameters(command=command[0], args=command[1:], env=product.environment())
        yield server, {"http": f"{server.url}/mcp", "stdio": stdio}[request.param]


@pytest.mark.parametrize("target", ["http", "stdio"], indirect=True)
async def test_upload_session_takes_text_that_is_larger_than_other_calls(target):
    server, transport = target
    made = server.call("register_workspace", machine="laptop", tool="codex", project="shop")
    place = {"workspace_id": made["workspace_id"], "write_token": made["write_token"], "session_id": "s-1"}
    async with Client(transport) as client:
        stored = await client.call_tool("upload_session", place | {"content": TEXT})
    assert json.loads(stored.content[0].text)["bytes"] == len(TEXT)


def bound(announced: str | None) -> BodyBound:
    return BodyBound(announced, LARGEST, ORDINARY)


def test_two_large_bodies_are_read_at_once_and_a_third_is_refused():
    with bound(LARGE), bound(LARGE):
        with pytest.raises(errors.TooMany):
            bound(LARGE)
        with bound(str(ORDINARY)), bound(None):
            pass
    with bound(LARGE):
        pass


@pytest.mark.parametrize("announced", [str(LARGEST + 1), "-1", "1e3", "²", ""])
def test_length_that_is_too_large_or_not_a_number_is_refused(announced):
    with pytest.raises(errors.TooLarge):
        bound(announced)


def test_body_of_unknown_length_is_bounded_by_the_ordinary_size():
    with bound(None) as reading, pytest.raises(errors.TooLarge):
        reading.require_within(ORDINARY + 1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[product.Product]:
    with product.running("--data", str(tmp_path_factory.mktemp("data"))) as running:
        yield running


def send_without_reading(server: product.Product, head: str, chunked: bool) -> tuple[bytes, bytes]:
    """Send 50 MB like a client that reads only when it has sent everything; the head and body of the answer."""
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {FIFTY_MEGABYTES}"
    frame = b"10000\r\n" + b" " * 0x10000 + b"\r\n" if chunked else b" " * 0x10000
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as client:
        client.sendall(f"{head} HTTP/1.1\r\nHost: 127.0.0.1\r\n{length}\r\nX-Write-Token: t\r\n\r\n".encode())
        for _ in range(FIFTY_MEGABYTES // 0x10000):
            client.sendall(frame)
        if chunked:
            client.sendall(b"0\r\n\r\n")
        answer = b""
        while part := client.recv(65536):
            answer += part
    answer_head, _, body = answer.partition(b"\r\n\r\n")
    return answer_head, body


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
@pytest.mark.parametrize("head", ["POST /mcp", "POST /api/memory_health", "PUT /archives/w/s"])
def test_client_that_sends_fifty_megabytes_reads_the_413(server: product.Product, head: str, chunked: bool):
    answer_head, body = send_without_reading(server, head, chunked)
    assert answer_head.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer_head.lower()
    assert json.loads(body)["error"] == "too_large"
    assert server.call("memory_health")["status"] == "ok"


def test_client_that_sends_fifty_megabytes_to_nowhere_reads_the_404(server: product.Product):
    answer_head, body = send_without_reading(server, "POST /nowhere", chunked=False)
    assert (answer_head[:13], json.loads(body)["error"]) == (b"HTTP/1.1 404 ", "not_found")


def test_unknown_caller_on_a_pipe_is_refused(tmp_path: Path):
    command = product.command("serve", "--transport", "stdio", "--auth", "on", "--data", str(tmp_path))
    started = product.subprocess.run(
        command, input=b"", capture_output=True, timeout=PATIENCE_SECONDS, check=False,
        env=product.environment(),
    )  # fmt: skip
    assert (started.returncode, started.stdout) == (3, b"")
