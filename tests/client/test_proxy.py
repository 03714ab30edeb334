"""`commonplace stdio` as an agent starts it: a process that passes messages to the one server of a folder."""

import asyncio
import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import hooked
import psutil
import pytest
from mcp import Client, StdioServerParameters

import product
from commonplace.beacon import Beacon
from patience import PATIENCE_SECONDS, wait_until_async

UNAVAILABLE, REFUSED = -32000, -32003
INBOX = "inbox://shop/ann"
UPDATED = "notifications/resources/updated"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Proxy:
    """One proxy and the agent's end of its pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._asked = 0

    async def send(self, line: bytes | dict[str, Any]) -> None:
        self.process.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        await self.process.stdin.drain()

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return json.loads(await self.process.stdout.readline())

    async def hear_of(self, method: str, uri: str) -> None:
        """Waits for a notification; others may come before it."""
        while (heard := await self.hear()).get("method") != method or heard["params"].get("uri") != uri:
            pass

    async def request(self, method: str, **params: Any) -> int:
        self._asked += 1
        await self.send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        return self._asked

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        asked = await self.request(method, **params)
        while (answer := await self.hear()).get("id") != asked:
            pass
        return answer

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.ask("tools/call", name=tool, arguments=arguments)
        return json.loads(answer["result"]["content"][0]["text"])

    async def start_session(self, agent: str) -> str:
        return (await self.call("memory_start_session", project="shop", claude_instance=agent))["session_id"]

    async def hang_up(self) -> int:
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.process.wait()


_machines = itertools.count()


@contextlib.asynccontextmanager
async def proxied(*flags: str, **environ: str) -> AsyncIterator[Proxy]:
    """A proxy of an agent program of its own; all have the same parent here, so each gets a machine."""
    environ = {"COMMONPLACE_MACHINE": f"m{next(_machines)}"} | environ
    process = await asyncio.create_subprocess_exec(
        *product.command("stdio", *flags),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=product.environment(**environ),
        limit=16 * 1024 * 1024,
    )
    try:
        yield Proxy(process)
    finally:
        if process.returncode is None:
            process.kill()
        process.stdin.close()
        await process.wait()
        await process.stdout.read()


def lit(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "server.json").read_bytes())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder whose server, if the test had one started, is ended."""
    chosen = tmp_path / "data"
    yield chosen
    with contextlib.suppress(FileNotFoundError, psutil.NoSuchProcess):
        server = psutil.Process(lit(chosen)["pid"])
        if "commonplace" in server.cmdline():
            server.kill()


def end(pid: int, number: int = signal.SIGKILL) -> None:
    """Ends a server whose proxy still runs, and returns when nothing is left of it."""
    server = psutil.Process(pid)
    server.send_signal(number)
    server.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_sdk_client_works_through_the_proxy(address: Path | str, folder: Path, mode: str):
    flags = product.store_flags(address, folder)
    with product.running(*flags):
        command = product.command("stdio", *flags[:2])
        server = StdioServerParameters(command=command[0], args=command[1:], env=product.environment())
        async with asyncio.timeout(PATIENCE_SECONDS), Client(server, mode=mode) as client:
            listed = await client.list_tools()
            started = await client.call_tool("memory_start_session", {"project": "shop"})
            refused = await client.call_tool("memory_heartbeat", {"session_id": "nobody"})
            read = await client.read_resource("locks://shop")
    assert "memory_lock_files" in {tool.name for tool in listed.tools}
    assert json.loads(started.content[0].text)["agent"] == "mcp"
    assert (refused.is_error, json.loads(refused.content[0].text)["error"]) == (True, "session_not_found")
    assert [(each.uri, each.mime_type) for each in read.contents] == [("locks://shop", "application/json")]


async def test_five_proxies_at_once_start_one_server_that_outlives_them(address: Path | str, folder: Path):
    environ = {} if isinstance(address, Path) else {"COMMONPLACE_STORE": address}
    async with contextlib.AsyncExitStack() as stack:
        agents = [
            await stack.enter_async_context(proxied("--data", str(folder), **environ)) for _ in range(5)
        ]
        sessions = await asyncio.gather(*(agent.start_session(f"agent{n}") for n, agent in enumerate(agents)))
        first = lit(folder)
        locked = await agents[0].call("memory_lock_files", session_id=sessions[0], files=["a.py"])
        refused = await agents[4].call("memory_lock_files", session_id=sessions[4], files=["a.py"])
        assert [await agent.hang_up() for agent in agents] == [0] * 5
    assert (locked["success"], refused["success"]) == (True, False)
    assert (folder / "server.log").read_text().count("listens at") == 1
    async with proxied("--data", str(folder)) as later:
        kept = await later.call("memory_get_locks", session_id=sessions[1])
    assert [lock["file"] for lock in kept["locks"]] == ["a.py"]
    assert lit(folder) == first
    # A session of its own: what is done to an agent and all that it started passes it by.
    assert os.getsid(first["pid"]) == first["pid"]


async def test_model_behind_a_proxy_is_the_agent_of_its_hooks(folder: Path, tmp_path: Path):
    environ = {"COMMONPLACE_MACHINE": "laptop", "COMMONPLACE_HOME": str(tmp_path / "home")}
    with product.running("--data", str(folder)) as server:
        event = {"session_id": "s1", "hook_event_name": "SessionStart", "cwd": str(tmp_path)}
        settings = {"COMMONPLACE_URL": server.url, "COMMONPLACE_HOOKS_SECONDS": str(PATIENCE_SECONDS)}
        hook = await hooked.run(
            product.command("hook", "codex"),
            tmp_path,
            environ | settings | {"COMMONPLACE_PROJECT": "shop"},
            json.dumps(event).encode(),
        )
        assert "You are the agent codex" in hook.stdout
        async with proxied("--data", str(folder), **environ) as model:
            beat = await model.call("memory_heartbeat")
            started = await model.call("memory_start_session", project="shop", claude_instance="backend")
        async with proxied("--data", str(folder), COMMONPLACE_MACHINE="desk") as other:
            await other.ask(
                "initialize", **HELLO | {"clientInfo": {"name": "gemini-cli-mcp-client", "version": "1"}}
            )
            alone = await other.call("memory_start_session", project="shop")
    assert (beat["agent"], started["agent"], started["already_started"]) == ("codex", "backend", True)
    assert alone["agent"] == "gemini"


def test_server_that_ends_leaves_the_beacon_of_the_next(tmp_path: Path):
    ending = Beacon(tmp_path, "http://127.0.0.1:1")
    Beacon(tmp_path, "http://127.0.0.1:2")
    ending.remove_file()
    assert lit(tmp_path)["url"] == "http://127.0.0.1:2"


async def test_beacon_of_a_killed_server_is_not_believed(folder: Path, tmp_path: Path):
    with product.running("--data", str(tmp_path / "other")) as stranger:
        _light(folder, stranger.url)
        async with proxied("--data", str(folder)) as agent:
            await agent.start_session("ann")
        assert lit(folder)["url"] != stranger.url
        assert stranger.call("memory_list_projects").get("projects", []) == []


def _light(folder: Path, url: str) -> None:
    """As a server of the folder would have that was killed, whose port was given to another since."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    folder.mkdir()
    (folder / "server.json").write_text(json.dumps({"url": url, "pid": dead.pid, "token": ""}))


async def test_killed_server_is_started_again_by_the_next_message(folder: Path):
    async with proxied("--data", str(folder)) as agent:
        session = await agent.start_session("ann")
        killed = lit(folder)["pid"]
        end(killed)
        locked = await agent.call("memory_lock_files", session_id=session, files=["a.py"])
        assert (locked["success"], lit(folder)["pid"] != killed) == (True, True)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into a socket's queue as Linux shows it")
async def test_call_that_died_with_its_server_is_repeated_and_carried_out_once(folder: Path):
    async with proxied("--data", str(folder)) as agent:
        session = await agent.start_session("ann")
        server = lit(folder)
        os.kill(server["pid"], signal.SIGSTOP)
        item = {"session_id": session, "title": "pay"}
        asked = await agent.request("tools/call", name="memory_add_backlog_item", arguments=item)
        await _arrived(int(server["url"].rpartition(":")[2]))
        end(server["pid"])
        told = await agent.hear()
        assert (told["id"], "result" in told) == (asked, True)
        listed = await agent.call("memory_list_backlog", session_id=session)
        assert [each["title"] for each in listed["items"]] == ["pay"]


async def _arrived(port: int) -> None:
    """Until a request lies unread at a server that stands still."""
    local = f":{port:04X}"

    def unread() -> bool:
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return any(row[1].endswith(local) and not row[4].endswith(":00000000") for row in rows)

    await wait_until_async(unread)


async def test_listener_hears_on_after_a_restart(folder: Path):
    async with proxied("--data", str(folder)) as agent, proxied("--data", str(folder)) as other:
        session = await other.start_session("bob")
        wanted = {"resourceSubscriptions": [INBOX], "toolsListChanged": True}
        listening = await agent.request("subscriptions/listen", notifications=wanted, _meta=META)
        acknowledged = await agent.hear()
        assert acknowledged["params"]["notifications"] == wanted
        end(lit(folder)["pid"])
        await other.call("memory_heartbeat", session_id=session)
        again = [await agent.hear(), await agent.hear()]
        assert {heard["method"] for heard in again} == {UPDATED, "notifications/tools/list_changed"}
        mail = {"to_instance": "ann", "message": "hello"}
        await other.call("memory_send_message", session_id=session, **mail)
        heard = await agent.hear()
        tag = {"io.modelcontextprotocol/subscriptionId": listening}
        assert (heard["method"], heard["params"]) == (UPDATED, {"uri": INBOX, "_meta": tag})


async def test_session_of_a_stopped_server_lives_on_with_its_subscriptions(folder: Path):
    async with proxied("--data", str(folder)) as agent, proxied("--data", str(folder)) as other:
        await agent.ask("initialize", **HELLO)
        await agent.ask("resources/subscribe", uri=INBOX)
        session = await other.start_session("bob")
        end(lit(folder)["pid"], signal.SIGTERM)
        await other.call("memory_heartbeat", session_id=session)
        await agent.hear_of(UPDATED, INBOX)
        mail = {"to_instance": "ann", "message": "hello"}
        await other.call("memory_send_message", session_id=session, **mail)
        await agent.hear_of(UPDATED, INBOX)


async def test_session_that_the_server_forgot_is_opened_again_silently(tmp_path: Path):
    with product.running("--data", str(tmp_path / "one")) as first:
        async with proxied("--url", first.url) as agent:
            await agent.ask("initialize", **HELLO)
            first.stop()
            with product.running("--data", str(tmp_path / "two"), "--port", str(first.port)):
                assert (await agent.ask("resources/subscribe", uri=INBOX))["result"] == {}


async def test_server_that_somebody_names_is_never_started(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with proxied(COMMONPLACE_URL=url, COMMONPLACE_DATA=str(tmp_path)) as agent:
            assert (await agent.ask("tools/list"))["error"]["code"] == UNAVAILABLE
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - in an async function a Path would block no less


async def test_server_that_cannot_start_is_an_error_in_its_own_words(tmp_path: Path):
    (tmp_path / "commonplace.created").touch()
    async with proxied("--data", str(tmp_path)) as agent:
        error = (await agent.ask("initialize", **HELLO))["error"]
        assert (error["code"], "is missing or empty" in error["message"]) == (UNAVAILABLE, True)


@pytest.fixture
def key(folder: Path) -> str:
    """A key of the agent ann."""
    bound = ("--name", "ann", "--agent", "ann", "--projects", "shop")
    command = product.command("key", "create", *bound, "--data", str(folder))
    made = subprocess.run(command, env=product.environment(), capture_output=True, text=True, check=True)
    return made.stdout.split()[0]


async def test_key_is_asked_for_and_the_operators_is_not_given_away(folder: Path, key: str):
    flags = ("--data", str(folder))
    with product.running(*flags, "--auth", "on"):
        async with proxied(*flags) as stranger:
            error = (await stranger.ask("tools/list"))["error"]
            assert (error["code"], error["data"]["status"]) == (REFUSED, 401)
        async with proxied(*flags, COMMONPLACE_KEY=key) as agent:
            assert (await agent.call("memory_start_session", project="shop"))["agent"] == "ann"


async def test_toolsets_narrow_what_this_agent_is_shown_and_nobody_else(folder: Path):
    flags = ("--data", str(folder))
    async with (
        proxied(*flags, COMMONPLACE_TOOLSETS="core") as narrow,
        proxied(*flags, "--toolsets", "core,work") as wider,
        proxied(*flags, "--toolsets", "all") as whole,
    ):
        shown = [len((await agent.ask("tools/list"))["result"]["tools"]) for agent in (narrow, wider, whole)]
    assert 0 < shown[0] < shown[1] < shown[2]


async def test_closed_input_ends_the_proxy_with_its_streams(folder: Path):
    async with proxied("--data", str(folder)) as agent:
        await agent.ask("initialize", **HELLO)
        await agent.request("subscriptions/listen", notifications={"toolsListChanged": True}, _meta=META)
        await agent.hear_of("notifications/subscriptions/acknowledged", None)
        assert await agent.hang_up() == 0


def test_idle_server_ends_by_itself_but_not_while_somebody_is_connected(tmp_path: Path):
    idle = ("--idle-seconds", "1")
    with product.running("--data", str(tmp_path / "used"), *idle) as used:
        # A stream, because a connection that sends no request is closed after some seconds.
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", used.port)) as stream:
            stream.request("GET", "/events?project=shop")
            assert stream.getresponse().status == HTTPStatus.OK
            with product.running("--data", str(tmp_path / "unused"), *idle) as unused:
                assert unused.process.wait(PATIENCE_SECONDS) == 0
            assert used.process.poll() is None
        assert used.process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("flags", [("--url", "ftp://there"), ("--toolsets", "a/b")])
def test_flags_that_make_no_sense_are_refused(flags: tuple[str, ...], tmp_path: Path):
    refused = subprocess.run(
        product.command("stdio", *flags), env=product.environment(COMMONPLACE_DATA=str(tmp_path)),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert (refused.returncode, refused.stdout, flags[1] in refused.stderr) == (2, "", True)
