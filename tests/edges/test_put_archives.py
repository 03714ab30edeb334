"""PUT, GET and HEAD of /archives/{workspace}/{session}, and the same session through an MCP client."""

import asyncio
import base64
import gzip
import hashlib
import http.client
import json
import random
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import product
from commonplace import zstd
from patience import PATIENCE_SECONDS
from team import on_sqlite

WHOLE = random.Random(5).randbytes(2_500_000)
TEXT = b'{"role":"user","content":"hi"}\n{"role":"assistant","content":"hello"}\n'


@dataclass
class Uploads:
    """One workspace of a running server."""

    server: product.Product
    workspace: str
    token: str

    def url(self, session: str) -> str:
        return f"/archives/{self.workspace}/{session}"

    def put(
        self, session: str, body: bytes, at: str = "", encoding: str = "", **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        given = {"X-Write-Token": self.token} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        given |= {"Content-Range": at} if at else {}
        given |= {"Content-Encoding": encoding} if encoding else {}
        status, reply, back = self.server.request("PUT", self.url(session), body, given)
        return status, json.loads(reply), back

    def get(self, session: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        return self.server.request("GET", self.url(session), headers=headers)


@pytest.fixture
def uploads(address: Path | str, tmp_path: Path) -> Iterator[Uploads]:
    with product.running(*product.store_flags(address, tmp_path / "client")) as server:
        made = server.call("register_workspace", machine="laptop", tool="codex", project="shop")
        yield Uploads(server, made["workspace_id"], made["write_token"])


def test_put_in_parts_of_every_encoding_comes_back_bit_for_bit(uploads: Uploads):
    parts = [WHOLE[:1_000_000], WHOLE[1_000_000:1_000_001], WHOLE[1_000_001:]]
    ranges = ["bytes 0-999999/*", "bytes 1000000-1000000/*", "bytes 1000001-2499999/2500000"]
    bodies = [gzip.compress(parts[0], 1), parts[1], zstd.compress(parts[2])]
    for body, at, encoding in zip(bodies, ranges, ("gzip", "", "zstd"), strict=True):
        status, reply, headers = uploads.put("s-1", body, at, encoding)
        assert (status, headers["upload-offset"]) == (200, str(reply["bytes"]))
    digest = hashlib.sha256(WHOLE).hexdigest()
    assert (reply["status"], reply["bytes"], reply["sha256"]) == ("extended", len(WHOLE), digest)
    known = {"bytes": len(WHOLE), "lines": reply["lines"], "sha256": digest,
             "compressed_bytes": reply["compressed_bytes"]}  # fmt: skip
    status, body, headers = uploads.get("s-1")
    assert (status, json.loads(body)) == (200, known)
    assert (headers["upload-offset"], headers["etag"]) == (str(len(WHOLE)), f'"{digest}"')
    status, body, headers = uploads.get("s-1", Range="bytes=0-")
    assert (status, headers["content-range"]) == (206, f"bytes 0-{len(WHOLE) - 1}/{len(WHOLE)}")
    assert body == WHOLE
    status, body, headers = uploads.server.request("HEAD", uploads.url("s-1"))
    assert (status, body, headers["upload-offset"]) == (200, b"", str(len(WHOLE)))
    status, body, _ = uploads.get("s-1", Range="bytes=1048570-1048580")
    assert (status, body) == (206, WHOLE[1048570:1048581])
    status, body, _ = uploads.server.request("GET", uploads.url("s-1") + "?from=1048570&to=1048580")
    assert (status, body) == (206, WHOLE[1048570:1048580])


KEY_LINES = [base64.b64encode(random.Random(n).randbytes(48)).decode() for n in range(10)]


def read_of_key_file() -> bytes:
    """What Claude Code records when it reads a key file."""
    lines = ["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"]
    numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": numbered}
    records = [
        {"type": "user", "message": {"role": "user", "content": "Read the key"}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
        {
            "type": "assistant",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "\n".join(lines)}]},
        },
    ]
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


@on_sqlite
def test_put_of_a_key_file_by_another_client_stores_and_shows_no_line_of_it(uploads: Uploads):
    sent = read_of_key_file()
    status, reply, headers = uploads.put("s-1", sent[:700])
    status, reply, headers = uploads.put("s-1", sent[700:], f"bytes 700-{len(sent) - 1}/*")
    assert (status, headers["upload-offset"]) == (200, str(len(sent)))
    assert reply["sha256"] == hashlib.sha256(sent).hexdigest()
    assert "private key" in reply["_notice"][0]
    place = {"workspace_id": uploads.workspace, "session_id": "s-1"}
    status, stored, _ = uploads.get("s-1", Range="bytes=0-")
    shown = json.dumps(
        [
            stored.decode(),
            uploads.server.call("read_session", **place),
            uploads.server.call("read_session", **place, view="raw"),
            uploads.server.call("list_sessions", workspace_id=uploads.workspace),
            uploads.server.call("search_sessions", query="key"),
            *(uploads.server.call("search_sessions", query=line[:20], mode="literal") for line in KEY_LINES),
        ]
    )
    assert (status, len(stored)) == (206, len(sent))
    assert [line for line in KEY_LINES if line in shown] == []
    assert uploads.put("s-1", sent)[1]["status"] == "duplicate"


@on_sqlite
def test_put_at_another_place_tells_how_much_is_stored(uploads: Uploads):
    uploads.put("s-1", TEXT)
    status, reply, headers = uploads.put("s-1", b"later", "bytes 999-1003/*")
    assert (status, reply["error"], reply["bytes"]) == (409, "conflict", len(TEXT))
    assert headers["upload-offset"] == str(len(TEXT))
    status, reply, _ = uploads.put("s-1", TEXT[7:20], "bytes 7-19/*")
    assert (status, reply["status"]) == (200, "duplicate")


REFUSED = {
    "no range": ({"at": "bytes 5-2/*"}, 400),
    "range beyond its total": ({"at": "bytes 0-69/69"}, 400),
    "range of another length": ({"at": "bytes 0-9/*"}, 400),
    "range in other words": ({"at": "lines 0-9/*"}, 400),
    "a wrong hash": ({"X_Sha256": "0" * 64}, 400),
    "no hash": ({"X_Sha256": "abc"}, 400),
    "an unknown encoding": ({"encoding": "br"}, 400),
    "a broken encoding": ({"encoding": "gzip"}, 400),
    "a wrong token": ({"X_Write_Token": "cwt_wrong"}, 403),
}


@on_sqlite
def test_put_that_is_wrong_is_refused_and_nothing_is_stored(uploads: Uploads):
    outcomes = {name: uploads.put("s-1", TEXT, **given)[0] for name, (given, _) in REFUSED.items()}
    assert outcomes == {name: status for name, (_, status) in REFUSED.items()}
    for path in ("/archives/nobody/s-1", "/archives/../s-1", f"/archives/{uploads.workspace}/a%2Fb"):
        assert uploads.server.request("PUT", path, TEXT, {"X-Write-Token": uploads.token})[0] == 404
    for odd in ("%2e%2e", "a%00b", ".hidden"):
        assert uploads.put(odd, TEXT)[0] == 400
    without = uploads.server.request("PUT", uploads.url("s-1"), TEXT)
    assert (without[0], json.loads(without[1])["error"]) == (403, "forbidden")
    assert "X-Write-Token" in json.loads(without[1])["message"]
    assert uploads.get("s-1")[0] == 404
    uploads.put("s-1", TEXT)
    assert [uploads.get("s-1", Range=text)[0] for text in ("bytes=70-", "bytes=9-3", "lines=1-2")] == [
        416,
        416,
        400,
    ]


@on_sqlite
def test_put_of_too_much_is_refused_before_it_is_read(uploads: Uploads):
    with socket.create_connection(("127.0.0.1", uploads.server.port), timeout=PATIENCE_SECONDS) as client:
        head = (
            f"PUT {uploads.url('s-1')} HTTP/1.1\r\nHost: 127.0.0.1:{uploads.server.port}\r\n"
            f"X-Write-Token: {uploads.token}\r\nContent-Length: 17000000\r\n\r\n"
        )
        client.sendall(head.encode())
        assert client.recv(4096).startswith(b"HTTP/1.1 413 ")
    bomb = zstd.compress(bytes(17_000_000))
    assert uploads.put("s-1", bomb, encoding="zstd")[0] == 413
    assert uploads.get("s-1")[0] == 404


def test_get_that_meets_a_missing_part_on_the_way_ends_and_leaves_one_line(
    address: Path | str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    kept = tmp_path / "kept"
    flags = (*product.store_flags(address, tmp_path / "client"), "--archives", str(kept))
    with product.running(*flags) as server:
        made = server.call("register_workspace", machine="laptop", tool="codex", project="shop")
        uploads = Uploads(server, made["workspace_id"], made["write_token"])
        first, last = (b"a" * 1023 + b"\n") * 5 * 1024, (b"b" * 1023 + b"\n") * 1024
        uploads.put("s-1", zstd.compress(first + last), encoding="zstd")
        digest = hashlib.sha256(last).hexdigest()
        next(kept.rglob(f"{digest}-*")).unlink()
        with pytest.raises(http.client.IncompleteRead) as ended:
            uploads.get("s-1", Range="bytes=0-")
        assert ended.value.partial == first[: 4 * 1024 * 1024]
        assert uploads.get("s-1")[0] == 200
        server.stop()
    logged = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    [line] = [line for line in logged if line["event"] == "response ended early"]
    assert (line["path"], line["code"]) == (uploads.url("s-1"), "unavailable")
    assert not [line for line in logged if "trace" in line]


async def test_session_goes_up_and_is_read_through_an_mcp_client(uploads: Uploads):
    named = {"workspace_id": uploads.workspace, "session_id": "s-1"}

    async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
        called = await client.call_tool(tool, arguments)
        return json.loads(called.content[0].text)

    packed = base64.b64encode(gzip.compress(TEXT[31:])).decode()
    async with asyncio.timeout(PATIENCE_SECONDS), Client(f"{uploads.server.url}/mcp") as client:
        up = {"write_token": uploads.token}
        first = await call(client, "upload_session", **named, **up, content=TEXT[:31].decode())
        second = await call(client, "upload_session", **named, **up, content_gzip_base64=packed, offset=31)
        again = await call(client, "upload_session", **named, **up, content=TEXT.decode())
        refused = await call(client, "upload_session", **named, **up, content="x", offset=5000)
        listed = await call(client, "list_sessions", workspace_id=uploads.workspace)
        read = await call(client, "read_session", **named, view="raw", offset=1)
    assert [each["status"] for each in (first, second, again)] == ["stored", "extended", "duplicate"]
    assert (refused["error"], refused["bytes"]) == ("conflict", len(TEXT))
    assert [each["sha256"] for each in listed["sessions"]] == [hashlib.sha256(TEXT).hexdigest()]
    assert read.pop("warning").startswith(
        "reads like instructions"
    )  # a transcript has the marks of a conversation
    assert read == {
        "lines": [TEXT.decode().splitlines()[1]], "offset": 1, "total_lines": 2, "has_more": False,
    }  # fmt: skip
