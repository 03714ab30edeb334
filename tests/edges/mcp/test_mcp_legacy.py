"""The handshake era over HTTP: sessions, their tokens, and everything one can do in them."""

import asyncio
import json

import pytest
from stage import (
    LEGACY,
    NOTES,
    PRIVATE,
    Stage,
    initialize_message,
    legacy_message,
    open_raw_connection,
    read_error_code,
    read_tool_text,
    run_stage,
    wait_for,
)

from commonplace.edges.limits import ClientLimits


async def test_initialize_answers_with_the_version_asked_for(stage: Stage):
    answer = await stage.post(initialize_message("2025-06-18"))
    assert answer.json()["result"] == {
        "protocolVersion": "2025-06-18",
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
        },
        "serverInfo": {"name": "stage", "title": "Stage", "version": "1.0"},
        "instructions": "Speak.",
    }


@pytest.mark.parametrize("asked", ["1999-01-01", 7, None])
async def test_initialize_offers_the_newest_version_for_an_unknown_one(stage: Stage, asked):
    answer = await stage.post(initialize_message(asked))
    assert answer.json()["result"]["protocolVersion"] == LEGACY


@pytest.mark.parametrize("headers", [{}, {"mcp_protocol_version": "2025-06-18"}])
async def test_call_in_a_session_knows_the_client_with_or_without_the_version_header(stage: Stage, headers):
    session = await stage.initialize()
    answer = await stage.call_tool("echo", {"a": 1}, mcp_session_id=session, **headers)
    assert read_tool_text(answer) == {
        "caller": "anybody",
        "client": "tester",
        "version": LEGACY,
        "arguments": {"a": 1},
    }


async def test_call_without_a_session_is_served(stage: Stage):
    answer = await stage.call_tool("echo", {"a": 1})
    assert read_tool_text(answer)["version"] == "2025-03-26"


async def test_session_of_one_replica_is_served_by_another():
    async with run_stage() as first, run_stage() as second:
        session = await first.initialize()
        answer = await second.call_tool("echo", mcp_session_id=session)
        assert read_tool_text(answer)["client"] == "tester"


@pytest.mark.parametrize("method", ["tools/list", "notifications/initialized"])
async def test_session_of_another_caller_is_not_found(stage: Stage, method):
    session = await stage.initialize(authorization="Bearer alice")
    for caller, status in (("alice", {200, 202}), ("mallory", {404})):
        message = {"jsonrpc": "2.0", "method": method} | ({"id": 1} if "/list" in method else {})
        answer = await stage.post(message, mcp_session_id=session, authorization=f"Bearer {caller}")
        assert answer.status_code in status


async def test_session_with_a_changed_id_is_not_found(stage: Stage):
    session = await stage.initialize()
    changed = session[:10] + ("B" if session[10] == "A" else "A") + session[11:]
    for forged in (session[:-2], changed, "", "x", "..", session + session):
        answer = await stage.call_tool("echo", mcp_session_id=forged)
        assert answer.status_code == 404, forged


async def test_session_too_old_is_not_found():
    now = [1_000_000.0]
    async with run_stage(ClientLimits(session_seconds=60), clock=lambda: now[0]) as stage:
        session = await stage.initialize()
        now[0] += 59
        assert (await stage.call_tool("echo", mcp_session_id=session)).status_code == 200
        now[0] += 3
        assert (await stage.call_tool("echo", mcp_session_id=session)).status_code == 404


async def test_delete_ends_the_session_and_its_stream(stage: Stage):
    session = await stage.initialize()
    async with stage.open_stream(session) as heard:
        answer = await stage.client.delete(stage.url, headers={"mcp-session-id": session})
        assert answer.status_code == 200
        assert [event async for event in heard] == []
    assert (await stage.call_tool("echo", mcp_session_id=session)).status_code == 404
    assert stage.publisher.listener_count == 0


async def test_get_without_a_session_is_not_allowed(stage: Stage):
    answer = await stage.client.get(stage.url, headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_unknown_method_is_refused_inside_the_protocol(stage: Stage):
    assert read_error_code(await stage.post(legacy_message("no/such"))) == (200, -32601)


async def test_batch_is_refused(stage: Stage):
    assert read_error_code(await stage.post([legacy_message("ping")])) == (400, -32600)


async def test_ping_answers_empty(stage: Stage):
    assert (await stage.post(legacy_message("ping", "a"))).json() == {
        "jsonrpc": "2.0",
        "id": "a",
        "result": {},
    }


async def test_unknown_resource_has_the_code_of_its_era(stage: Stage):
    answer = await stage.post(legacy_message("resources/read", uri="memo://gone"))
    assert answer.json()["error"] == {
        "code": -32002,
        "message": "Resource not found: memo://gone.",
        "data": {"uri": "memo://gone"},
    }


async def test_list_gives_the_next_cursor(stage: Stage):
    answer = await stage.post(legacy_message("resources/list"))
    assert answer.json()["result"] == {"resources": [{"uri": NOTES, "name": "notes"}], "nextCursor": "more"}


async def test_refused_tool_is_a_failed_result_that_says_why(stage: Stage):
    answer = await stage.call_tool("refuse")
    refusal = {"error": {"code": "taken", "message": "Somebody else holds it.", "hint": "Ask them."}}
    assert answer.json()["result"]["isError"] is True
    assert read_tool_text(answer) == refusal


async def test_broken_tool_tells_nothing_and_harms_nobody(stage: Stage):
    answer = await stage.call_tool("break")
    assert read_error_code(answer) == (200, -32603)
    assert "secret" not in answer.text
    await stage.assert_answers()


async def test_unknown_tool_is_an_error_of_the_parameters(stage: Stage):
    assert read_error_code(await stage.call_tool("no_such")) == (200, -32602)


@pytest.mark.parametrize("level", ["debug", "error"])
async def test_log_messages_below_the_session_level_are_not_sent(stage: Stage, level):
    session = await stage.initialize()
    await stage.post(legacy_message("logging/setLevel", level=level), mcp_session_id=session)
    answer = await stage.call_tool("narrate", mcp_session_id=session)
    assert ("notifications/message" in answer.text) is (level == "debug")


async def test_subscribe_without_a_session_or_access_is_refused(stage: Stage):
    assert read_error_code(await stage.post(legacy_message("resources/subscribe", uri=NOTES))) == (
        400,
        -32600,
    )
    session = await stage.initialize()
    answer = await stage.post(legacy_message("resources/subscribe", uri=PRIVATE), mcp_session_id=session)
    assert read_error_code(answer) == (200, -32002)


async def test_tool_that_needs_input_asks_the_client_of_this_session(stage: Stage):
    answer = await stage.post(initialize_message(elicitation={}))
    session = answer.headers["mcp-session-id"]
    message = legacy_message("tools/call", name="confirm", arguments={})
    async with stage.open_listener(message, mcp_session_id=session, mcp_protocol_version=LEGACY) as heard:
        question = await wait_for(anext(heard))
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
        other = await stage.initialize()
        await stage.post({**reply, "result": {"action": "forged"}}, mcp_session_id=other)
        await stage.post(reply, mcp_session_id=session)
        result = await wait_for(anext(heard))
    assert question["method"] == "elicitation/create"
    assert json.loads(result["result"]["content"][0]["text"]) == ["asked", {"action": "accept"}]


async def test_tool_that_needs_input_fails_where_the_client_cannot_be_asked(stage: Stage):
    session = await stage.initialize()
    answer = await stage.call_tool("confirm", mcp_session_id=session)
    assert answer.json()["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}


async def test_cancelled_notification_stops_the_call_of_its_own_session_only(stage: Stage):
    mine, other = await stage.initialize(), await stage.initialize()
    call = asyncio.create_task(stage.call_tool("wait", mcp_session_id=mine))
    await wait_for(stage.host.started)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    await stage.post(cancelled, mcp_session_id=other)
    await stage.assert_answers()
    assert not stage.host.cancelled.is_set()
    await stage.post(cancelled, mcp_session_id=mine)
    await wait_for(stage.host.cancelled)
    answer = await wait_for(call)
    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.slow
async def test_same_request_id_on_many_connections_gets_each_its_own_answer(stage: Stage):
    async def own(nonce: str) -> set[str]:
        connection = await open_raw_connection(stage)
        message = legacy_message("tools/call", 1, name="slowly", arguments={"nonce": nonce})
        answers = [await connection.ask(message) for _ in range(5)]
        await connection.close()
        return {answer["result"]["content"][0]["text"] for answer in answers}

    nonces = [f"nonce-{number}" for number in range(200)]
    assert await asyncio.gather(*map(own, nonces)) == [{nonce} for nonce in nonces]


@pytest.mark.parametrize(
    ("path", "headers", "name", "readonly"),
    [
        ("", {}, "all", False),
        ("/", {}, "all", False),
        ("/readonly", {}, "all", True),
        ("/x/core", {}, "core", False),
        ("/x/core,work", {}, "core-work", False),
        ("/x/core/readonly", {}, "core", True),
        ("/x/all", {}, "all", False),
        ("", {"x_mcp_toolsets": "work, core"}, "core-work", False),
        ("/x/core", {"x_mcp_toolsets": "work"}, "core", False),
        ("/readonly", {"x_mcp_readonly": "false"}, "all", True),
        ("", {"x_mcp_readonly": "true"}, "all", True),
    ],
)
async def test_url_and_headers_choose_the_tools_that_are_shown(stage: Stage, path, headers, name, readonly):
    stage.url += path
    answer = await stage.post(legacy_message("tools/list"), **headers)
    tool = answer.json()["result"]["tools"][0]
    assert (tool["name"], tool["readonly"]) == (name, readonly)


@pytest.mark.parametrize("path", ["/x", "/x/", "/y/core", "/readonly/x", "/x/core/all", "evil"])
async def test_url_of_no_view_is_not_found(stage: Stage, path):
    stage.url += path
    assert (await stage.post(legacy_message("tools/list"))).status_code == 404


async def test_unknown_key_is_challenged(stage: Stage):
    answer = await stage.call_tool("echo", authorization="Bearer nobody")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
