"""Live push through real clients: who waits is told, nobody else is, and nothing is missed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from mcp import Client, StdioServerParameters

import product
from patience import PATIENCE_SECONDS
from stream_server import close_stream

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

INBOX = "inbox://shop/backend"


async def call_tool(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    reply = json.loads(result.content[0].text)
    assert not result.is_error, reply
    return reply


async def start_session(client: Client, agent: str) -> str:
    return (await call_tool(client, "memory_start_session", project="shop", claude_instance=agent))[
        "session_id"
    ]


@asynccontextmanager
async def open_subscriber(server: Any, era: str) -> AsyncIterator[asyncio.Queue[str]]:
    """A client of this era that waits on the backend's inbox; the queue gets what it is told of."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    if era == "legacy":

        async def note(message: Any) -> None:
            if getattr(message, "method", "") == "notifications/resources/updated":
                heard.put_nowait(str(message.params.uri))

        async with Client(server, mode="legacy", message_handler=note) as client:
            await client.subscribe_resource(INBOX)
            yield heard
        return
    async with Client(server) as client, client.listen(resource_subscriptions=[INBOX]) as events:

        async def follow() -> None:
            async for event in events:
                heard.put_nowait(str(event.uri))

        following = asyncio.create_task(follow())
        yield heard
        following.cancel()


async def next_notification(heard: asyncio.Queue[str]) -> str:
    return await asyncio.wait_for(heard.get(), PATIENCE_SECONDS)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_waiting_agent_is_told_of_mail_without_asking(address: Path | str, tmp_path: Path, era: str):
    with product.running(*product.store_flags(address, tmp_path / "client")) as server:
        async with Client(f"{server.url}/mcp") as sender:
            ann = await start_session(sender, "ann")
            await start_session(sender, "backend")
            async with open_subscriber(f"{server.url}/mcp", era) as heard:
                await call_tool(
                    sender, "memory_send_message", session_id=ann, to_instance="backend", message="hello"
                )
                assert await next_notification(heard) == INBOX


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_mail_through_another_replica_is_told_too(postgres_dsn: str, tmp_path: Path, era: str):
    flags = ["--store", postgres_dsn]
    with (
        product.running("--data", str(tmp_path / "one"), *flags) as one,
        product.running("--data", str(tmp_path / "two"), *flags) as two,
    ):
        async with Client(f"{two.url}/mcp") as sender:
            ann = await start_session(sender, "ann")
            await start_session(sender, "backend")
            async with open_subscriber(f"{one.url}/mcp", era) as heard:
                await call_tool(
                    sender, "memory_send_message", session_id=ann, to_instance="backend", message="hello"
                )
                assert await next_notification(heard) == INBOX


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_push_works_over_stdio(tmp_path: Path, era: str):
    arguments = product.command("serve", "--transport", "stdio", "--data", str(tmp_path))
    server = StdioServerParameters(command=arguments[0], args=arguments[1:], env=product.environment())
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard.put_nowait(str(message.params.uri))

    async with Client(server, mode="legacy" if era == "legacy" else "auto", message_handler=note) as client:
        ann = await start_session(client, "ann")
        await start_session(client, "backend")
        if era == "legacy":
            await client.subscribe_resource(INBOX)
            await call_tool(
                client, "memory_send_message", session_id=ann, to_instance="backend", message="hello"
            )
            assert await next_notification(heard) == INBOX
            return
        async with client.listen(resource_subscriptions=[INBOX]) as events:
            await call_tool(
                client, "memory_send_message", session_id=ann, to_instance="backend", message="hello"
            )
            event = await asyncio.wait_for(anext(aiter(events)), PATIENCE_SECONDS)
            assert str(event.uri) == INBOX


class Follower:
    """Reads GET /events as a program would."""

    def __init__(
        self, server: product.Product, last: str = "", key: str = "", query: str = "project=shop"
    ) -> None:
        self.server, self.last, self.key, self.query = server, last, key, query

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        resume = f"Last-Event-ID: {self.last}\r\n" if self.last else ""
        key = f"Authorization: Bearer {self.key}\r\n" if self.key else ""
        self.writer.write(
            f"GET /events?{self.query} HTTP/1.1\r\nHost: 127.0.0.1\r\n{resume}{key}\r\n".encode()
        )
        self.status = int((await self.reader.readline()).split()[1])
        if self.status == 200:
            await asyncio.wait_for(self.reader.readuntil(b": following"), PATIENCE_SECONDS)
        return self

    async def __aexit__(self, *_: object) -> None:
        await close_stream(self.writer)

    async def event(self) -> dict[str, Any]:
        while True:
            line = await asyncio.wait_for(self.reader.readline(), PATIENCE_SECONDS)
            if line.startswith(b"id: "):
                self.last = line[4:].strip().decode()
            if line.startswith(b"data: "):
                return json.loads(line[6:])


async def test_events_stream_tells_programs_what_happens(address: Path | str, tmp_path: Path):
    with product.running(*product.store_flags(address, tmp_path / "client")) as server:
        async with Follower(server) as follower, Client(f"{server.url}/mcp") as client:
            ann = await start_session(client, "ann")
            await call_tool(client, "memory_lock_files", session_id=ann, files=["a.py"])
            seen = [await follower.event(), await follower.event()]
        async with Follower(server, last="4711") as ahead:
            assert await ahead.event() == {"reason": "ahead", "last": 2}
            server.call("memory_lock_files", session_id=ann, files=["b.py"])
            assert (await ahead.event())["n"] == 3
    assert [(event["n"], event["kind"]) for event in seen] == [(1, "SessionStarted"), (2, "FilesLocked")]


async def test_reconnecting_listener_misses_nothing_after_a_crash(address: Path | str, tmp_path: Path):
    flags = product.store_flags(address, tmp_path / "client")
    with product.running(*flags) as server:
        async with Follower(server) as follower:
            ann = server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
            last = (await follower.event())["n"]
        for n in range(20):
            server.call("memory_lock_files", session_id=ann, files=[f"{n}.py"])
        server.kill()
    with product.running(*flags) as server:
        async with Follower(server, last=str(last)) as follower:
            seen = [await follower.event() for _ in range(20)]
    assert [event["body"]["files"] for event in seen] == [[f"{n}.py"] for n in range(20)]
    assert [event["n"] for event in seen] == list(range(last + 1, last + 21))


async def test_events_of_a_foreign_project_are_refused(tmp_path: Path):
    flags = ["--data", str(tmp_path)]
    made = product.subprocess.run(
        product.command("key", "create", "--name", "ben", "--projects", "other", *flags),
        capture_output=True, text=True, check=True, env=product.environment(),
    )  # fmt: skip
    key = made.stdout.split()[0]
    with product.running(*flags, "--auth", "on") as server:
        async with Follower(server, key=key) as follower:
            assert follower.status == 403


async def test_events_of_all_projects_are_those_of_the_key_and_resume(address: Path | str, tmp_path: Path):
    flags = product.store_flags(address, tmp_path / "client")
    made = product.subprocess.run(
        product.command("key", "create", "--name", "owner", "--role", "owner", *flags),
        capture_output=True, text=True, check=True, env=product.environment(),
    )  # fmt: skip
    owner = made.stdout.split()[0]
    with product.running(*flags, "--auth", "on") as server:
        ben = server.call("memory_admin", owner, action="create_key", name="ben", projects=["shop"])["key"]

        def start(project: str, agent: str) -> None:
            server.call("memory_start_session", owner, project=project, claude_instance=agent)

        async with Follower(server, key=ben, query="project=*") as follower:
            start("bank", "ann")
            start("shop", "ann")
            first = await follower.event()
            position = follower.last
        start("bank", "carol")
        start("shop", "carol")
        resumed = []
        for last, query in ((position, "project=*"), ("", f"project=*&last_event_id={position}")):
            async with Follower(server, last, ben, query) as follower:
                resumed.append([await follower.event(), await follower.event()])
        async with Follower(server, str(2**60), ben, "project=*") as ahead:
            reset = await ahead.event()
            start("bank", "dan")
            start("shop", "dan")
            after_reset = await ahead.event()
    assert (first["project"], first["kind"], first["actor"]) == ("shop", "SessionStarted", "ann")
    # Events of the last seconds come again after a resume.
    for events in resumed:
        assert [(event["project"], event["actor"]) for event in events] == [
            ("shop", "ann"),
            ("shop", "carol"),
        ]
    assert reset["reason"] == "ahead"
    assert (after_reset["project"], after_reset["actor"]) == ("shop", "dan")


async def test_dropped_subscribers_leave_nothing_behind(tmp_path: Path):
    with product.running("--data", str(tmp_path)) as server:
        async with Client(f"{server.url}/mcp") as sender:
            ann = await start_session(sender, "ann")
            await start_session(sender, "backend")
            for _ in range(3):
                async with open_subscriber(f"{server.url}/mcp", "modern"):
                    pass
            sent = await call_tool(
                sender, "memory_send_message", session_id=ann, to_instance="backend", message="hello"
            )
            assert sent["status"] == "queued"
        assert server.stop() == 0
