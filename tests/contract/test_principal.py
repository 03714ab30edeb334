"""Who speaks is decided by the key, whatever the transport: bearer, cookie, one-time link, or MCP of either era."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from test_access_matrix import ACTS, arguments

from commonplace import access, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.edges.application import build_application
from commonplace.edges.identity import Identity
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.project_events import ProjectEvents

HOST = "127.0.0.1:8080"
OWN = {"host": HOST, "origin": f"http://{HOST}", "content-type": "application/json"}
MCP = {"host": HOST, "content-type": "application/json", "accept": "application/json, text/event-stream"}
REFUSED = ("forbidden", "unauthenticated")
KEYS = [("agent", "readonly"), ("person", "agent"), ("program", "sync")]


class Server:
    def __init__(self, database: Any, clock: Any, auth: str = "on") -> None:
        self.calls = Calls(database, CATALOGUE, Settings(auth=auth), clock)
        self.identity = Identity(
            database, self.calls.settings, clock, operator_token="operator's token", environ={}
        )
        events = ProjectEvents(self.calls, self.identity.identify)
        self._app = build_application(self.calls, self.identity, Publisher(), events, b"x" * 32)

    async def post(self, path: str, body: Any, headers: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        encoded = json.dumps(body).encode()
        all_headers = headers | {"content-length": str(len(encoded))}
        scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8080), "scheme": "http", "http_version": "1.1",
            "headers": [(name.encode(), value.encode()) for name, value in all_headers.items()],
        }  # fmt: skip
        incoming = [{"type": "http.request", "body": encoded, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return incoming.pop() if incoming else await asyncio.get_running_loop().create_future()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        named = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        text = b"".join(message.get("body", b"") for message in sent).decode()
        data = [line[5:] for line in text.splitlines() if line.startswith("data:")]
        return sent[0]["status"], named, json.loads(data[-1] if data else text or "null")

    async def run(self, tool: str, given: dict[str, Any], caller: access.Caller = access.OPERATOR) -> Any:
        return (await self.calls.run(tool, given, caller)).reply


@dataclass
class Door:
    """One principal at one transport; `call` returns the code of the refusal, or "ok"."""

    call: Callable[[str, dict[str, Any]], Awaitable[str]]
    is_mcp: bool = False


async def _open_bearer(server: Server, secret: str) -> Door:
    async def call(tool: str, given: dict[str, Any]) -> str:
        headers = MCP | {"authorization": f"Bearer {secret}"}
        status, _, reply = await server.post(f"/api/{tool}", given, headers)
        return "ok" if status == 200 else reply["error"]

    return Door(call)


async def _open_browser(server: Server, body: dict[str, str]) -> Door:
    status, headers, reply = await server.post("/sign-in", body, OWN)
    assert status == 200, reply
    own = OWN | {"cookie": headers["set-cookie"].partition(";")[0], "x-csrf-token": reply["csrf"]}

    async def call(tool: str, given: dict[str, Any]) -> str:
        status, _, reply = await server.post(f"/api/{tool}", given, own)
        return "ok" if status == 200 else reply["error"]

    return Door(call)


async def _open_cookie(server: Server, secret: str) -> Door:
    return await _open_browser(server, {"key": secret})


async def _open_link(server: Server, secret: str) -> Door:
    caller = await server.identity.identify({"authorization": f"Bearer {secret}"})
    link = await server.run("memory_create_sign_in_link", {}, caller)
    return await _open_browser(server, {"code": link.code})


def _read_mcp_code(reply: dict[str, Any]) -> str:
    if "error" in reply:
        return "forbidden"  # a tool that this key is not offered
    result = reply["result"]
    return json.loads(result["content"][0]["text"])["error"] if result.get("isError") else "ok"


async def _open_mcp(server: Server, secret: str) -> Door:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }

    async def call(tool: str, given: dict[str, Any]) -> str:
        own = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
        params = {"name": tool, "arguments": given, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = MCP | own | {"authorization": f"Bearer {secret}"}
        return _read_mcp_code((await server.post("/mcp", message, headers))[2])

    return Door(call, is_mcp=True)


async def _open_legacy_mcp(server: Server, secret: str) -> Door:
    own = MCP | {"authorization": f"Bearer {secret}"}
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    _, headers, _ = await server.post("/mcp", message, own)
    own |= {"mcp-session-id": headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}

    async def call(tool: str, given: dict[str, Any]) -> str:
        params = {"name": tool, "arguments": given}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return _read_mcp_code((await server.post("/mcp", message, own))[2])

    return Door(call, is_mcp=True)


DOORS = {
    "bearer": _open_bearer,
    "cookie": _open_cookie,
    "link": _open_link,
    "mcp 2026": _open_mcp,
    "mcp 2025": _open_legacy_mcp,
}


async def _make_key(server: Server, kind: str, role: str) -> str:
    given = {"name": f"{kind}-{role}", "agent": f"{kind}-{role}", "role": role, "projects": ["shop"]}
    created = await server.run("memory_admin", {"action": "create_key", "person": kind == "person"} | given)
    return str(created.key)


@pytest.mark.sqlite_only
@pytest.mark.parametrize(("kind", "role"), KEYS)
async def test_every_operation_is_decided_alike_at_every_door(database, clock, kind, role):
    server = Server(database, clock)
    secret = await _make_key(server, kind, role)
    if role != "sync":
        keyed = await server.identity.identify({"authorization": f"Bearer {secret}"})
        await server.run("memory_start_session", {"project": "shop"}, keyed)
    can_sign_in = role != "sync"
    doors = {
        name: await open_door(server, secret)
        for name, open_door in DOORS.items()
        if can_sign_in or name not in ("cookie", "link")
    }
    wrong = []
    for tool, picked, act in (param.values for param in ACTS):
        given = picked | arguments(act, "shop")
        codes = {
            name: await door.call(tool, given)
            for name, door in doors.items()
            if not door.is_mcp or tool in CATALOGUE.model_tools
        }
        if len({code in REFUSED for code in codes.values()}) > 1:
            wrong.append((tool, picked, codes))
    assert wrong == []


async def _ask_and_lock(server: Server, agent: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments with which a person may release a lock and answer a request of a new agent."""
    keys_off = access.Caller("owner", frozenset({"*"}))
    started = await server.run(
        "memory_start_session", {"project": "shop", "claude_instance": agent}, keys_off
    )
    own = {"session_id": started.session_id}
    await server.run("memory_lock_files", own | {"files": [f"{agent}.py"]}, keys_off)
    asked = own | {"kind": "permission", "title": "Bash", "text": "ls", "is_awaited": True}
    request = (await server.run("memory_report_request", asked, keys_off)).request_id
    listed = await server.run("memory_list_requests", {"project": "shop"}, keys_off)
    (shown,) = [row.shown for row in listed.requests if row.id == request]
    lock = {"project": "shop", "agent": agent, "file": f"{agent}.py", "reason": "stuck"}
    return lock, {"project": "shop", "request_id": request, "shown": shown, "decision": "allow"}


@pytest.mark.sqlite_only
@pytest.mark.parametrize(("kind", "role", "may"), [("agent", "agent", False), ("person", "agent", True)])
async def test_only_the_key_of_a_person_decides_for_others(database, clock, kind, role, may):
    server = Server(database, clock)
    secret = await _make_key(server, kind, role)
    for number, name in enumerate(("bearer", "cookie", "link")):
        door = await DOORS[name](server, secret)
        lock, answer = await _ask_and_lock(server, f"mia-{number}")
        codes = (
            await door.call("memory_release_lock", lock),
            await door.call("memory_answer_request", answer),
        )
        assert codes == (("ok", "ok") if may else ("forbidden", "forbidden")), name


@pytest.mark.sqlite_only
async def test_without_keys_only_the_operator_is_a_person(database, clock):
    server = Server(database, clock, "off")
    lock, answer = await _ask_and_lock(server, "mia")
    anybody = await _open_browser(server, {})
    assert await anybody.call("memory_release_lock", lock) == "forbidden"
    assert await anybody.call("memory_answer_request", answer) == "forbidden"
    made_by_anybody = await server.run("memory_create_sign_in_link", {"agent": "eve"}, access.LOCAL)
    stranger = await _open_browser(server, {"code": made_by_anybody.code})
    assert await stranger.call("memory_answer_request", answer) == "forbidden"
    operator = await _open_link(server, "operator's token")
    assert await operator.call("memory_release_lock", lock) == "ok"
    assert await operator.call("memory_answer_request", answer) == "ok"


async def _start(server: Server, secret: str, name: str) -> tuple[access.Caller, Any]:
    caller = await server.identity.identify({"authorization": f"Bearer {secret}"})
    return caller, await server.run(
        "memory_start_session", {"project": "shop", "claude_instance": name}, caller
    )


async def _make(server: Server, name: str, **more: Any) -> str:
    given = {"action": "create_key", "name": name, "projects": ["shop"]} | more
    return str((await server.run("memory_admin", given)).key)


@pytest.mark.parametrize("name", ["boss", "Boss", "b\u043ess", "operator", "ADMIN", "dora", "Dora"])
async def test_an_agent_takes_no_name_of_a_person_a_key_or_the_server(database, clock, name):
    server = Server(database, clock)
    await _make(server, "boss", person=True)
    await _start(server, await _make(server, "dora", agent="dora"), "dora")
    with pytest.raises((errors.Forbidden, errors.Conflict)):
        await _start(server, await _make(server, "team"), name)


async def test_a_name_belongs_to_the_key_that_used_it_and_a_later_key_inherits_nothing(database, clock):
    server = Server(database, clock)
    first, second = await _make(server, "first"), await _make(server, "second")
    _, started = await _start(server, first, "ann")
    sender, ben = await _start(server, second, "ben")
    mail = {"session_id": ben.session_id, "to_instance": "ann", "message": "the secret plan"}
    await server.run("memory_send_message", mail, sender)
    with pytest.raises(errors.Forbidden):
        await _start(server, second, "ann")
    await server.run("memory_admin", {"action": "revoke_key", "name": "first"})
    caller, started = await _start(server, second, "Ann")
    assert started.agent == "ann"
    inbox = await server.run("memory_get_messages", {"session_id": started.session_id}, caller)
    assert (inbox.count, started.messages["unread"]) == (0, 0)


@pytest.mark.sqlite_only
async def test_a_list_of_projects_may_be_written_with_commas(database, clock):
    server = Server(database, clock)
    made = await server.run("memory_admin", {"action": "create_key", "name": "ci", "projects": ["a,b, c"]})
    assert made.projects == ["a", "b", "c"]


@pytest.mark.sqlite_only
async def test_a_second_name_on_one_connection_is_a_second_session(database, clock):
    server = Server(database, clock)
    connection = replace(
        await server.identity.identify({"authorization": f"Bearer {await _make(server, 'team')}"}),
        windows=("mcp:1",),
    )
    sessions = {}
    for name in ("ann", "ben"):
        given = {"project": "shop", "claude_instance": name}
        sessions[name] = await server.run("memory_start_session", given, connection)
    assert [each.agent for each in sessions.values()] == ["ann", "ben"]
    locks = [
        await server.run("memory_lock_files", {"session_id": each.session_id, "files": ["a.py"]}, connection)
        for each in sessions.values()
    ]
    assert [lock.success for lock in locks] == [True, False]
    again = {"project": "shop", "claude_instance": "ben"}
    assert (await server.run("memory_start_session", again, connection)).already_started


async def test_a_message_says_who_its_sender_is(database, clock):
    server = Server(database, clock)
    boss, team = await _make(server, "boss", person=True), await _make(server, "team")
    reader, ann = await _start(server, team, "ann")
    mail = {"project": "shop", "to_instance": "ann"}
    page = await _open_cookie(server, boss)
    assert await page.call("memory_send_message", mail | {"message": "Approved, go ahead"}) == "ok"
    mia, started = await _start(server, team, "mia")
    own = {"session_id": started.session_id, "to_instance": "ann", "message": "I am done"}
    await server.run("memory_send_message", own, mia)
    inbox = await server.run(
        "memory_get_messages", {"session_id": ann.session_id, "include_delivered": True}, reader
    )
    assert {(each.by.kind, each.by.name, each.by.verified) for each in inbox.messages} == {
        ("person", "boss", True),
        ("agent", "mia", False),
    }
