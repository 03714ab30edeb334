"""Both eras on one pipe, whether the server is at its other end or the proxy in front of one."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest
from stage import (
    LEGACY,
    MODERN,
    NOTES,
    SECRET,
    StageHost,
    initialize_message,
    legacy_message,
    listen_message,
    modern_message,
    run_stage,
    wait_for,
)

from commonplace.client.link.relay import StdioRelay
from commonplace.client.link.server_location import NamedServer
from commonplace.client.link.upstream import McpUpstream
from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.publisher import TOOLS_CHANGED, Publisher
from commonplace.edges.mcp.stdio_transport import serve_stdio

TAG = "io.modelcontextprotocol/subscriptionId"


class Pipe:
    """The client's end: `send` a message, `hear` the next line."""

    def __init__(self, host: StageHost, publisher: Publisher) -> None:
        self.host, self.publisher = host, publisher
        self._theirs, self._write = os.pipe()
        self._read, self._output = os.pipe()
        self._rest = b""

    @property
    def descriptors(self) -> tuple[int, int]:
        return self._theirs, self._output

    def served_by(self, serving: Coroutine[Any, Any, None]) -> None:
        self.task = asyncio.create_task(serving)

    async def send(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        await asyncio.to_thread(_write_all, self._write, line)

    async def hear(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            self._rest += await wait_for(asyncio.to_thread(os.read, self._read, 65536))
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    async def ask(self, message: Any) -> dict[str, Any]:
        await self.send(message)
        return await self.hear()

    def hang_up(self) -> None:
        if self._write >= 0:
            os.close(self._write)
            self._write = -1

    async def end(self) -> None:
        self.hang_up()
        self.host.released.set()
        await wait_for(self.task)
        for descriptor in (self._theirs, self._read, self._output):
            os.close(descriptor)


def _write_all(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]


LIMITS = ClientLimits(body_bytes=200_000)


@pytest.fixture
async def direct_pipe() -> AsyncIterator[Pipe]:
    opened = Pipe(StageHost(), Publisher(LIMITS))
    served = {"secret": SECRET, "limits": LIMITS, "environ": {}, "descriptors": opened.descriptors}
    opened.served_by(serve_stdio(opened.host, opened.publisher, "anybody", **served))
    yield opened
    await opened.end()


@pytest.fixture
async def proxied_pipe() -> AsyncIterator[Pipe]:
    async with run_stage(LIMITS) as stage:
        opened = Pipe(stage.host, stage.publisher)
        relay = StdioRelay(McpUpstream(NamedServer(stage.url)), opened.descriptors)
        opened.served_by(asyncio.to_thread(relay.run))
        yield opened
        await opened.end()


@pytest.fixture(params=["direct", "proxied"])
def pipe(request: pytest.FixtureRequest) -> Pipe:
    return request.getfixturevalue(f"{request.param}_pipe")


def version_heard(answer: dict[str, Any]) -> str:
    return json.loads(answer["result"]["content"][0]["text"])["version"]


async def test_pipe_serves_both_eras_in_any_order(pipe: Pipe):
    call = {"name": "echo", "arguments": {}}
    discovered = await pipe.ask(modern_message("server/discover"))
    started = await pipe.ask(initialize_message())
    assert discovered["result"]["supportedVersions"][0] == MODERN
    assert started["result"]["protocolVersion"] == LEGACY
    heard = [
        version_heard(await pipe.ask(message))
        for message in (
            legacy_message("tools/call", 2, **call),
            modern_message("tools/call", call, 3),
            legacy_message("tools/call", 4, **call),
        )
    ]
    assert heard == [LEGACY, MODERN, LEGACY]


async def test_pipe_serves_a_call_before_any_introduction(pipe: Pipe):
    assert version_heard(await pipe.ask(legacy_message("tools/call", name="echo"))) == "2025-03-26"


async def test_call_that_waits_does_not_hold_up_the_next(pipe: Pipe):
    await pipe.send(legacy_message("tools/call", 1, name="wait"))
    assert (await pipe.ask(legacy_message("ping", 2)))["id"] == 2
    pipe.host.released.set()
    assert (await pipe.hear())["id"] == 1


async def test_line_too_long_is_refused_and_skipped(direct_pipe: Pipe):
    await direct_pipe.send(b"x" * 1_000_000 + b"\n")
    refused = await direct_pipe.hear()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert (await direct_pipe.ask(legacy_message("ping", 2)))["result"] == {}


async def test_message_too_large_for_the_server_is_refused_by_its_id(proxied_pipe: Pipe):
    refused = await proxied_pipe.ask(
        legacy_message("tools/call", 1, name="echo", arguments={"a": "x" * 5_000_000})
    )
    assert (refused["id"], refused["error"]["data"]["status"]) == (1, 413)
    assert (await proxied_pipe.ask(legacy_message("ping", 2)))["result"] == {}


async def test_refusal_that_names_nobody_reaches_who_asked(proxied_pipe: Pipe):
    refused = await proxied_pipe.ask(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}\n')
    assert (refused["id"], refused["error"]["code"]) == (7, -32700)


async def test_line_too_long_for_the_proxy_is_refused_and_skipped(proxied_pipe: Pipe):
    refused = await proxied_pipe.ask(b"x" * 17_000_000 + b"\n")
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert (await proxied_pipe.ask(legacy_message("ping", 2)))["result"] == {}


async def test_name_that_no_header_can_carry_reaches_the_server(proxied_pipe: Pipe):
    for name in ("snø", " echo", "a\r\nHost: evil", "=?base64?ZWNobw==?="):
        refused = await proxied_pipe.ask(modern_message("tools/call", {"name": name, "arguments": {}}))
        assert (refused["id"], refused["error"]["code"]) == (1, -32602)


async def test_version_that_nobody_speaks_is_refused_by_its_id(proxied_pipe: Pipe):
    message = modern_message(
        "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "1999-01-01"}}
    )
    assert (await proxied_pipe.ask(message))["error"]["code"] == -32022


@pytest.mark.parametrize(
    "line", [b"{\n", b"[]\n", b"\xff\n", b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n']
)
async def test_line_that_is_no_message_is_refused_and_the_next_served(pipe: Pipe, line):
    assert (await pipe.ask(line))["error"]["code"] in {-32700, -32600}
    assert (await pipe.ask(legacy_message("ping", 2)))["result"] == {}


async def test_empty_lines_are_skipped(pipe: Pipe):
    assert (await pipe.ask(b"\n  \r\n" + json.dumps(legacy_message("ping", 2)).encode() + b"\r\n"))["id"] == 2


async def test_cancelled_notification_stops_the_call_without_an_answer(pipe: Pipe):
    await pipe.send(legacy_message("tools/call", 1, name="wait"))
    await wait_for(pipe.host.started)
    await pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    await wait_for(pipe.host.cancelled)
    assert (await pipe.ask(legacy_message("ping", 2)))["id"] == 2


async def test_listen_hears_until_it_is_cancelled(pipe: Pipe):
    acknowledged = await pipe.ask(listen_message("L", resourceSubscriptions=[NOTES]))
    assert acknowledged["params"]["_meta"] == {TAG: "L"}
    pipe.publisher.publish_resource_update(NOTES)
    assert (await pipe.hear())["params"] == {"uri": NOTES, "_meta": {TAG: "L"}}
    await pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "L"}})
    await wait_for(lambda: pipe.publisher.listener_count == 0)


async def test_session_hears_what_it_subscribed_to(pipe: Pipe):
    await pipe.ask(initialize_message())
    await pipe.ask(legacy_message("resources/subscribe", 2, uri=NOTES))
    pipe.publisher.publish_resource_update(NOTES)
    assert (await pipe.hear())["params"] == {"uri": NOTES}
    pipe.publisher.publish_list_change(TOOLS_CHANGED)
    assert (await pipe.hear())["method"] == "notifications/tools/list_changed"


async def test_tool_that_needs_input_asks_over_the_pipe(pipe: Pipe):
    await pipe.ask(initialize_message(elicitation={}))
    question = await pipe.ask(legacy_message("tools/call", 2, name="confirm"))
    answer = await pipe.ask({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
    assert json.loads(answer["result"]["content"][0]["text"]) == ["asked", {"action": "decline"}]


async def test_broken_tool_harms_nobody(pipe: Pipe):
    assert (await pipe.ask(legacy_message("tools/call", 1, name="break")))["error"]["code"] == -32603
    assert (await pipe.ask(legacy_message("ping", 2)))["result"] == {}


async def test_end_of_input_still_answers_what_was_asked(pipe: Pipe):
    await pipe.send(legacy_message("tools/call", 1, name="slowly", arguments={"nonce": "n"}))
    await pipe.send(json.dumps(legacy_message("ping", 2)).encode())
    pipe.hang_up()
    assert {(await pipe.hear())["id"], (await pipe.hear())["id"]} == {1, 2}
    await wait_for(pipe.task)


async def test_end_of_input_forgets_the_listeners(pipe: Pipe):
    await pipe.ask(initialize_message())
    await pipe.ask(listen_message("L", resourceSubscriptions=[NOTES]))
    pipe.hang_up()
    await wait_for(pipe.task)
    await wait_for(lambda: pipe.publisher.listener_count == 0)


async def test_client_that_stops_reading_does_not_stop_the_loop(pipe: Pipe):
    for number in range(100):
        await pipe.send(legacy_message("tools/call", number, name="echo", arguments={"a": "x" * 100_000}))
    await pipe.send(legacy_message("tools/call", 100, name="wait"))
    await wait_for(pipe.host.started)
    answers = [await pipe.hear() for _ in range(100)]
    assert sorted(answer["id"] for answer in answers) == list(range(100))
