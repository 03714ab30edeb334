"""Bytes meant to harm: each is answered, and the next caller notices nothing."""

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator

import pytest
from stage import NOTES, Stage, legacy_message, modern_headers, modern_message, run_stage, wait_for

from commonplace.edges.http.refusals import ForeignOrigin
from commonplace.edges.http.router import require_allowed_origin
from commonplace.edges.limits import ClientLimits
from stream_server import close_stream

MEGABYTE = 1024 * 1024


def call_with_argument(value: str) -> bytes:
    """A call whose one argument is this piece of JSON."""
    head = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":'
    return f"{head}{value}}}}}}}".encode("utf-8", "surrogatepass")


HOSTILE = {
    "nothing": b"",
    "half": b'{"jsonrpc":',
    "no JSON": b"hello",
    "two messages": b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}',
    "UTF-16": json.dumps(legacy_message("ping")).encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + json.dumps(legacy_message("ping")).encode(),
    "no UTF-8": call_with_argument('"x"').replace(b'"x"', b'"\xff\xfe"'),
    "UTF-8 surrogate": call_with_argument('"\ud800"'),
    "NaN": call_with_argument("NaN"),
    "Infinity": call_with_argument("-Infinity"),
    "huge float": call_with_argument("1e999"),
    "huge integer": call_with_argument("9223372036854775808"),
    "endless integer": call_with_argument("1" * 5000),
    "lone surrogate": call_with_argument('"\\ud800"'),
    "NUL": call_with_argument('"a\\u0000b"'),
    "NUL in a key": call_with_argument('{"\\u0000":1}'),
    "key twice": call_with_argument('{"b":1,"b":2}'),
    "key twice, spelled differently": call_with_argument('{"b":1,"\\u0062":2}'),
    "method twice": b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
    "deep": call_with_argument("[" * 65 + "]" * 65),
    "very deep": call_with_argument("[" * 1100 + "]" * 1100),
    "endlessly deep": b"[" * 100_000,
    "many values": call_with_argument("[" + "1," * 100_001 + "1]"),
    "many empty lists": call_with_argument("[" + "[]," * 1_000_000 + "1]"),
    "string without end": b'{"a":"' + b'\\"' * 1_000_000,
    "number": b"1",
    "null": b"null",
    "version 1": b'{"id":1,"method":"ping"}',
    "id of an object": b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    "id of true": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "method of a number": b'{"jsonrpc":"2.0","id":1,"method":7}',
}


async def test_hostile_bodies_are_refused_and_the_next_call_answers(stage: Stage):
    for name, body in HOSTILE.items():
        answer = await stage.post(body)
        assert answer.status_code == 400, name
        assert answer.json()["error"]["code"] in {-32700, -32600}, name
        await stage.assert_answers()


async def test_honest_bodies_that_look_like_hostile_ones_are_served(stage: Stage):
    for value in (
        '"' + "{[:,]}" * 30_000 + '"',
        '[{"b":1},{"b":2}]',
        '"\\\\u0000"',
        "[" * 60 + "1" + "]" * 60,
        "9223372036854775807",
        "-9223372036854775808",
        '"\\ud83d\\ude00"',
    ):
        answer = await stage.post(call_with_argument(value))
        heard = json.loads(answer.json()["result"]["content"][0]["text"])
        assert heard["arguments"] == {"a": json.loads(value)}


async def test_params_of_the_wrong_shape_are_refused(stage: Stage):
    for params in ([], "x", 7, {"name": 7}, {"name": "echo", "arguments": []}, {}):
        answer = await stage.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert answer.json()["error"]["code"] == -32602


async def test_message_of_a_megabyte_is_served(stage: Stage):
    answer = await stage.call_tool("echo", {"a": "x" * MEGABYTE})
    assert answer.status_code == 200


@pytest.mark.parametrize("headers", [{"content_encoding": "gzip"}, {"content_type": "text/plain"}])
async def test_body_of_another_kind_is_refused(stage: Stage, headers):
    assert (await stage.call_tool("echo", **headers)).status_code == 415
    await stage.assert_answers()


async def generate_megabytes(count: int) -> AsyncIterator[bytes]:
    for _ in range(count * 16):
        yield b"x" * 65536


@pytest.mark.parametrize("length", [{"content-length": str(40 * MEGABYTE)}, {}])
async def test_body_of_40_megabytes_is_refused_without_being_kept(stage: Stage, length):
    await stage.assert_answers()
    tracemalloc.start()
    try:
        headers = {"content-type": "application/json", **length}
        request = stage.client.post(stage.url, content=generate_megabytes(40), headers=headers)
        assert (await wait_for(request)).status_code == 413
        _size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * MEGABYTE
    await stage.assert_answers()


async def test_refused_sender_that_never_stops_is_disconnected():
    async with run_stage(ClientLimits(drain_seconds=0.3, drain_idle_seconds=0.2)) as stage:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
        writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n")
        assert b'"too_large"' in await wait_for(reader.readuntil(b"}"))
        closed = asyncio.create_task(wait_for(reader.read()))
        while not closed.done():
            writer.write(b" ")
            await asyncio.sleep(0.01)
        assert closed.exception() is None or isinstance(closed.exception(), ConnectionResetError)
        await close_stream(writer)
        await stage.assert_answers()


async def test_body_that_drips_is_given_up():
    async with run_stage(ClientLimits(body_grace_seconds=0.2)) as stage:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
        writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        status = await wait_for(reader.readline())
        await close_stream(writer)
        assert b"408" in status
        await stage.assert_answers()


async def test_body_that_comes_fast_enough_is_not_given_up():
    async with run_stage(ClientLimits(body_grace_seconds=0.2, bytes_per_second=20)) as stage:
        call = json.dumps(legacy_message("ping")).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {2000 + len(call)}\r\n\r\n"
        writer.write(head.encode() + b" " * 2000)
        # Two kilobytes at the lowest rate allowed buy a hundred seconds more than the grace.
        await asyncio.sleep(0.4)
        writer.write(call)
        status = await wait_for(reader.readline())
        await close_stream(writer)
        assert b"200" in status


@pytest.mark.parametrize(
    "foreign",
    [
        "http://evil.example",
        "null",
        "",
        "http://localhost.evil.com",
        "http://127.0.0.1:8765.evil.com",
        "http://localhost:80@evil.com",
        "http://localhost@evil.com",
        "http://evil.com#localhost",
        "http://evil.com/localhost",
        "http://localhost/",
        "http://localhost:99999",
        "file://localhost",
        "localhost",
        "http://[::1",
        "http://127.0.0.1.",
    ],
)
async def test_foreign_origin_is_forbidden(stage: Stage, foreign):
    answer = await stage.call_tool("echo", origin=foreign)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "other", ["http://localhost", "http://localhost:3000", "https://127.0.0.1:8443", "http://[::1]:80"]
)
async def test_page_of_another_port_of_this_machine_is_foreign(stage: Stage, other):
    assert (await stage.call_tool("echo", origin=other)).status_code == 403


async def test_page_of_this_server_is_allowed(stage: Stage):
    assert (await stage.call_tool("echo", origin=stage.url.removesuffix("/mcp"))).status_code == 200


@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("foreign", ["evil.example:8765", "localhost.evil.com", "localhost@evil.com", ""])
async def test_foreign_host_is_misdirected(stage: Stage, verb, foreign):
    assert (await stage.client.request(verb, stage.url, headers={"host": foreign})).status_code == 421


def refusal_status(headers: dict[str, str], hosts: set[str], origins: set[str]) -> int | None:
    try:
        require_allowed_origin(headers, frozenset(hosts), frozenset(origins))
    except ForeignOrigin as refusal:
        return refusal.status
    return None


@pytest.mark.parametrize(
    ("host", "foreign_origin", "status"),
    [
        ("team.example", None, None),
        ("team.example:8443", "https://team.example:8443", None),
        ("TEAM.example", None, None),
        ("pinned.example:8443", None, None),
        ("pinned.example:9", None, 421),
        ("team.example", "https://app.example", None),
        ("team.example", "http://app.example", 403),
        ("localhost", None, 421),
    ],
)
def test_allowed_hosts_and_origins_pass_and_others_are_refused(host, foreign_origin, status):
    headers = {"host": host} | ({"origin": foreign_origin} if foreign_origin else {})
    allowed = {"team.example", "pinned.example:8443"}
    assert refusal_status(headers, allowed, {"https://app.example"}) == status


def test_every_host_allowed_still_refuses_foreign_origins():
    assert refusal_status({"host": "any.example"}, {"*"}, set()) is None
    assert refusal_status({"host": "any.example", "origin": "http://evil.example"}, {"*"}, set()) == 403


async def test_listener_may_not_ask_for_everything():
    async with run_stage(ClientLimits(uris_per_listener=2, listeners=1)) as stage:
        message = modern_message(
            "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a", "b", "c"]}}
        )
        answer = await stage.post(message, **modern_headers(message))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)


async def test_listener_beyond_the_limit_is_refused():
    async with run_stage(ClientLimits(listeners=1)) as stage:
        message = modern_message(
            "subscriptions/listen", {"notifications": {"resourceSubscriptions": [NOTES]}}
        )
        async with stage.open_listener(message) as heard:
            await wait_for(anext(heard))
            answer = await stage.post(message, **modern_headers(message))
            assert answer.json()["error"]["code"] == -32603
