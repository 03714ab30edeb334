"""Bodies beyond the ordinary size: the few that may come, and the others."""

import json

import pytest
from mcp import Client, StdioServerParameters

import product
from commonplace import errors
from commonplace.edges.large import LARGEST, ORDINARY, Large

LARGE = str(ORDINARY + 1)
TEXT = '{"role":"user","content":"' + "na " * 1_800_000 + '"}\n'


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


def test_large_lets_two_be_read_at_once():
    with Large(LARGE), Large(LARGE):
        with pytest.raises(errors.TooMany):
            Large(LARGE)
        with Large(str(ORDINARY)), Large(None):
            pass
    with Large(LARGE):
        pass


@pytest.mark.parametrize("announced", [str(LARGEST + 1), "-1", "1e3", "²", ""])
def test_large_refuses_what_is_too_long_or_no_length(announced):
    with pytest.raises(errors.TooLarge):
        Large(announced)


def test_large_bounds_a_body_of_unknown_length():
    with Large(None) as reading, pytest.raises(errors.TooLarge):
        reading.grow(ORDINARY + 1)
