"""What listeners hear, what they may not hear, and what is left when they are gone."""

import asyncio
import json
import socket
import tracemalloc

import pytest
from stage import (
    NOTES,
    PRIVATE,
    Stage,
    legacy_message,
    listen_message,
    modern_headers,
    modern_message,
    run_stage,
    wait_for,
    wire_headers,
)

from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.publisher import PROMPTS_CHANGED, RESOURCES_CHANGED, TOOLS_CHANGED, Publisher

TAG = "io.modelcontextprotocol/subscriptionId"


def update_notification(uri: str, **params: object) -> dict:
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri, **params}}


async def test_listen_acknowledges_what_the_caller_may_hear(stage: Stage):
    wanted = listen_message(
        "L", toolsListChanged=True, promptsListChanged=False, resourceSubscriptions=[NOTES, PRIVATE]
    )
    async with stage.open_listener(wanted) as heard:
        assert await wait_for(anext(heard)) == {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "notifications": {"toolsListChanged": True, "resourceSubscriptions": [NOTES]},
                "_meta": {TAG: "L"},
            },
        }


async def test_listen_hears_exactly_what_it_asked_for(stage: Stage):
    async with stage.open_listener(listen_message("L", resourceSubscriptions=[NOTES])) as heard:
        await wait_for(anext(heard))
        stage.publisher.publish_list_change(TOOLS_CHANGED)
        stage.publisher.publish_resource_update(NOTES + "/child")
        stage.publisher.publish_resource_update("memo://")
        stage.publisher.publish_resource_update(NOTES)
        assert await wait_for(anext(heard)) == update_notification(NOTES, _meta={TAG: "L"})


async def test_listen_hears_of_lists(stage: Stage):
    async with stage.open_listener(listen_message(toolsListChanged=True, resourcesListChanged=True)) as heard:
        await wait_for(anext(heard))
        stage.publisher.publish_list_change(TOOLS_CHANGED)
        stage.publisher.publish_list_change(PROMPTS_CHANGED)
        stage.publisher.publish_list_change(RESOURCES_CHANGED)
        methods = [(await wait_for(anext(heard)))["method"] for _ in range(2)]
    assert methods == ["notifications/tools/list_changed", "notifications/resources/list_changed"]


async def test_listener_that_lost_access_hears_nothing_more(stage: Stage):
    async with stage.open_listener(
        listen_message(toolsListChanged=True, resourceSubscriptions=[NOTES])
    ) as heard:
        await wait_for(anext(heard))
        stage.host.readable.clear()
        stage.publisher.publish_resource_update(NOTES)
        stage.publisher.publish_list_change(TOOLS_CHANGED)
        assert (await wait_for(anext(heard)))["method"] == "notifications/tools/list_changed"


async def test_change_is_told_only_to_the_callers_who_may_see_it(stage: Stage):
    wanted = listen_message(toolsListChanged=True, resourceSubscriptions=[NOTES])
    alice = stage.open_listener(wanted, authorization="Bearer alice")
    bob = stage.open_listener(wanted, authorization="Bearer bob")
    async with alice as alice_heard, bob as bob_heard:
        await wait_for(anext(alice_heard))
        await wait_for(anext(bob_heard))
        stage.publisher.publish_resource_update(NOTES, "shop", "alice")
        stage.publisher.publish_list_change(TOOLS_CHANGED)
        first = [(await wait_for(anext(heard)))["method"] for heard in (alice_heard, bob_heard)]
    assert first == ["notifications/resources/updated", "notifications/tools/list_changed"]


async def test_changes_that_wait_are_told_once(stage: Stage):
    async with stage.open_listener(
        listen_message(toolsListChanged=True, resourceSubscriptions=[NOTES])
    ) as heard:
        await wait_for(anext(heard))
        for _ in range(1000):
            stage.publisher.publish_resource_update(NOTES)
        stage.publisher.publish_list_change(TOOLS_CHANGED)
        methods = [(await wait_for(anext(heard)))["method"] for _ in range(2)]
    assert methods == ["notifications/resources/updated", "notifications/tools/list_changed"]


async def test_listener_that_leaves_is_forgotten(stage: Stage):
    async with stage.open_listener(listen_message(resourceSubscriptions=[NOTES])) as heard:
        await wait_for(anext(heard))
        assert stage.publisher.listener_count == 1
    await wait_for(lambda: stage.publisher.listener_count == 0)


async def test_publisher_that_closes_ends_the_stream_with_a_result(stage: Stage):
    async with stage.open_listener(listen_message("L", resourceSubscriptions=[NOTES])) as heard:
        await wait_for(anext(heard))
        stage.publisher.close()
        rest = [event async for event in heard]
    assert [
        (event["id"], event["result"]["resultType"], event["result"]["_meta"][TAG]) for event in rest
    ] == [("L", "complete", "L")]


async def test_quiet_stream_is_kept_alive():
    async with run_stage(ClientLimits(keep_alive_seconds=0.05)) as stage:
        wanted = listen_message(resourceSubscriptions=[NOTES])
        headers = wire_headers(modern_headers(wanted))
        async with stage.client.stream("POST", stage.url, json=wanted, headers=headers) as answer:
            lines = answer.aiter_lines()
            comments = 0
            while comments < 3:
                comments += (await wait_for(anext(lines))).startswith(":")


async def test_session_hears_what_it_subscribed_to_until_it_unsubscribes(stage: Stage):
    session = await stage.initialize()
    await stage.post(legacy_message("resources/subscribe", uri=NOTES), mcp_session_id=session)
    async with stage.open_stream(session) as heard:
        await wait_for(lambda: stage.publisher.listener_count == 1)
        stage.publisher.publish_resource_update(PRIVATE)
        stage.publisher.publish_resource_update(NOTES)
        first = await wait_for(anext(heard))
        await stage.post(legacy_message("resources/unsubscribe", uri=NOTES), mcp_session_id=session)
        stage.publisher.publish_resource_update(NOTES)
        stage.publisher.publish_list_change(TOOLS_CHANGED)
        second = await wait_for(anext(heard))
    assert first == update_notification(NOTES)
    assert second["method"] == "notifications/tools/list_changed"


async def test_session_can_subscribe_while_its_stream_is_open(stage: Stage):
    session = await stage.initialize()
    async with stage.open_stream(session) as heard:
        await stage.post(legacy_message("resources/subscribe", uri=NOTES), mcp_session_id=session)
        stage.publisher.publish_resource_update(NOTES)
        assert await wait_for(anext(heard)) == update_notification(NOTES)


async def test_session_that_opens_a_second_stream_ends_the_first(stage: Stage):
    session = await stage.initialize()
    async with stage.open_stream(session) as first, stage.open_stream(session) as second:
        assert [event async for event in first] == []
        stage.publisher.publish_list_change(TOOLS_CHANGED)
        assert (await wait_for(anext(second)))["method"] == "notifications/tools/list_changed"
    await wait_for(lambda: stage.publisher.listener_count == 0)


async def test_session_that_leaves_its_stream_is_forgotten_and_may_come_back(stage: Stage):
    session = await stage.initialize()
    await stage.post(legacy_message("resources/subscribe", uri=NOTES), mcp_session_id=session)
    async with stage.open_stream(session):
        await wait_for(lambda: stage.publisher.listener_count == 1)
    await wait_for(lambda: stage.publisher.listener_count == 0)
    async with stage.open_stream(session) as heard:
        await wait_for(lambda: stage.publisher.listener_count == 1)
        stage.publisher.publish_resource_update(NOTES)
        assert await wait_for(anext(heard)) == update_notification(NOTES)


async def raw_listener(stage: Stage, message: dict, receive_buffer: int = 4096) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", stage.port))
    body = json.dumps(message).encode()
    headers = {**wire_headers(modern_headers(message)), "host": "localhost", "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    await loop.sock_sendall(connection, f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
    return connection


async def test_listener_that_stops_reading_is_given_up():
    async with run_stage(ClientLimits(stalled_reader_seconds=0.2, keep_alive_seconds=0.1)) as stage:
        uris = [f"memo://{'long' * 500}/{number}" for number in range(500)]
        stage.host.readable.update(uris)
        connection = await raw_listener(stage, listen_message(resourceSubscriptions=uris))
        await wait_for(lambda: stage.publisher.listener_count == 1)

        def forgotten() -> bool:
            for uri in uris:
                stage.publisher.publish_resource_update(uri)
            return stage.publisher.listener_count == 0

        await wait_for(forgotten)
        connection.close()
        await stage.assert_answers()


@pytest.mark.slow
async def test_many_quiet_listeners_cost_little(stage: Stage):
    await stage.assert_answers()
    tracemalloc.start()
    try:
        quiet = [await raw_listener(stage, listen_message(resourceSubscriptions=[NOTES])) for _ in range(200)]
        await wait_for(lambda: stage.publisher.listener_count == 200)
        size, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    for connection in quiet:
        connection.close()
    assert size / 200 < 100_000
    await wait_for(lambda: stage.publisher.listener_count == 0)


async def test_publisher_without_listeners_keeps_nothing():
    publisher = Publisher()
    for number in range(1000):
        publisher.publish_resource_update(f"memo://{number}")
    listener = publisher.open_listener("anybody", [("notifications/resources/updated", NOTES)])
    publisher.remove_listener(listener)
    assert (publisher.listener_count, publisher._by_topic) == (0, {})


async def test_client_that_goes_away_stops_its_call(stage: Stage):
    call = asyncio.create_task(stage.post_modern("tools/call", {"name": "wait"}))
    await wait_for(stage.host.started)
    call.cancel()
    await wait_for(stage.host.cancelled)
    await stage.assert_answers()


async def test_client_that_closes_its_stream_stops_its_call(stage: Stage):
    message = modern_message(
        "tools/call", {"name": "wait", "arguments": {"say": 1}, "_meta": {"progressToken": 1}}
    )
    async with stage.open_listener(message) as heard:
        assert (await wait_for(anext(heard)))["method"] == "notifications/progress"
    await wait_for(stage.host.cancelled)
    await stage.assert_answers()
