"""The stateless era over HTTP: the ladder of checks, the stamps, and input over several rounds."""

import base64
import json

import pytest
from stage import MODERN, NOTES, Stage, modern_headers, modern_message, read_error_code, read_tool_text

SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "stage", "title": "Stage", "version": "1.0"}}
VERSION = "io.modelcontextprotocol/protocolVersion"


async def test_discover_describes_the_server(stage: Stage):
    answer = await stage.post_modern("server/discover")
    assert answer.json()["result"] == {
        "resultType": "complete",
        "_meta": SERVER,
        "ttlMs": 60000,
        "cacheScope": "private",
        "supportedVersions": [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
        },
        "instructions": "Speak.",
    }


async def test_call_is_stamped_and_mints_no_session(stage: Stage):
    answer = await stage.post_modern("tools/call", {"name": "echo", "arguments": {"a": 1}})
    result = answer.json()["result"]
    assert (result["resultType"], result["_meta"]) == ("complete", SERVER)
    assert read_tool_text(answer) == {
        "caller": "anybody",
        "client": "tester",
        "version": MODERN,
        "arguments": {"a": 1},
    }
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp-method": "tools/list"},
        {"mcp-method": "TOOLS/CALL"},
        {"mcp-method": ""},
        {"mcp-name": "other"},
        {"mcp-name": "ECHO"},
        {"mcp-name": ""},
        {"mcp-name": "=?base64?!!!?="},
        {"mcp-name": f"=?base64?{base64.b64encode(b'other').decode()}?="},
        {"mcp-protocol-version": "2025-11-25"},
        {"mcp-protocol-version": "2027-01-01"},
    ],
)
async def test_header_that_differs_from_the_body_is_refused(stage: Stage, headers):
    answer = await stage.post_modern("tools/call", {"name": "echo"}, **headers)
    assert read_error_code(answer) == (400, -32020)
    assert answer.json()["id"] == 1


@pytest.mark.parametrize("missing", ["mcp-protocol-version", "mcp-method", "mcp-name"])
async def test_header_that_is_missing_is_refused(stage: Stage, missing):
    message = modern_message("tools/call", {"name": "echo"})
    headers = modern_headers(message)
    del headers[missing]
    assert read_error_code(await stage.post(message, **headers)) == (400, -32020)


async def test_header_sent_twice_is_refused(stage: Stage):
    message = modern_message("tools/call", {"name": "echo"})
    headers = [*modern_headers(message).items(), ("mcp-name", "other"), ("content-type", "application/json")]
    answer = await stage.client.post(stage.url, json=message, headers=headers)
    assert read_error_code(answer) == (400, -32020)


async def test_name_header_may_be_in_base64(stage: Stage):
    wrapped = f"=?base64?{base64.b64encode(b'echo').decode()}?="
    answer = await stage.post_modern("tools/call", {"name": "echo"}, **{"mcp-name": wrapped})
    assert answer.status_code == 200


async def test_unsupported_version_is_told_which_are_supported(stage: Stage):
    answer = await stage.post_modern(
        "tools/list", {"_meta": {VERSION: "2099-01-01"}}, **{"mcp-protocol-version": "2099-01-01"}
    )
    assert read_error_code(answer) == (400, -32022)
    details = answer.json()["error"]["data"]
    assert (details["requested"], details["supported"][0]) == ("2099-01-01", MODERN)


@pytest.mark.parametrize(
    "method", ["no/such", "initialize", "ping", "logging/setLevel", "resources/subscribe"]
)
async def test_method_of_another_era_is_not_found(stage: Stage, method):
    assert read_error_code(await stage.post_modern(method)) == (404, -32601)


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "OPTIONS"])
async def test_verb_other_than_post_is_not_allowed(stage: Stage, verb):
    answer = await stage.client.request(verb, stage.url, headers={"mcp-protocol-version": MODERN})
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


async def test_notification_is_accepted(stage: Stage):
    answer = await stage.post(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        mcp_protocol_version=MODERN,
    )
    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("message", [{"id": 1, "result": {}}, {"id": None, "method": "tools/list"}])
async def test_message_that_is_no_request_is_refused(stage: Stage, message):
    answer = await stage.post({"jsonrpc": "2.0", **message}, mcp_protocol_version=MODERN)
    assert read_error_code(answer) == (400, -32600)


async def test_unknown_resource_has_the_code_of_its_era(stage: Stage):
    answer = await stage.post_modern("resources/read", {"uri": "memo://gone"})
    assert read_error_code(answer) == (400, -32602)


async def test_read_resource_says_how_long_it_keeps(stage: Stage):
    answer = await stage.post_modern("resources/read", {"uri": NOTES})
    assert answer.json()["result"] == {
        "resultType": "complete",
        "_meta": SERVER,
        "ttlMs": 0,
        "cacheScope": "private",
        "contents": [{"uri": NOTES, "text": "noted"}],
    }


async def test_progress_turns_the_answer_into_a_stream(stage: Stage):
    answer = await stage.post_modern("tools/call", {"name": "narrate", "_meta": {"progressToken": "p"}})
    told = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert answer.headers["content-type"] == "text/event-stream"
    assert told[0] == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": "p", "progress": 1, "total": 2, "message": "half"},
    }
    assert [event.get("id") for event in told] == [None, 1]


async def test_client_that_takes_no_stream_gets_plain_json(stage: Stage):
    answer = await stage.post_modern(
        "tools/call", {"name": "narrate", "_meta": {"progressToken": "p"}}, accept="application/json"
    )
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["content"][0]["text"] == "told"


async def asked_to_confirm(stage: Stage, **headers: str) -> dict:
    message = modern_message("tools/call", {"name": "confirm"}, elicitation={})
    answer = await stage.post(message, **{**modern_headers(message), **headers})
    return answer.json()["result"]


async def confirm(stage: Stage, state: object, tool: str = "confirm", **headers: str):
    params = {"name": tool, "inputResponses": {"sure": {"action": "accept"}}, "requestState": state}
    message = modern_message("tools/call", params, elicitation={})
    return await stage.post(message, **{**modern_headers(message), **headers})


async def test_input_comes_back_with_the_state_it_was_asked_with(stage: Stage):
    asked = await asked_to_confirm(stage)
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["sure"]["method"] == "elicitation/create"
    answer = await confirm(stage, asked["requestState"])
    assert read_tool_text(answer) == ["asked", {"action": "accept"}]


async def test_state_of_another_caller_another_tool_or_nobody_is_refused(stage: Stage):
    state = (await asked_to_confirm(stage))["requestState"]
    for forged in (state + "A", state[:-1], "", 7, None):
        assert read_error_code(await confirm(stage, forged)) == (400, -32602)
    assert read_error_code(await confirm(stage, state, authorization="Bearer mallory")) == (400, -32602)
    assert read_error_code(await confirm(stage, state, tool="echo")) == (400, -32602)
    assert (await confirm(stage, state)).status_code == 200


async def test_client_that_cannot_be_asked_is_told_what_it_lacks(stage: Stage):
    answer = await stage.post_modern("tools/call", {"name": "confirm"})
    assert read_error_code(answer) == (400, -32021)
    assert answer.json()["error"]["data"] == {"requiredCapabilities": {"elicitation": {}}}
