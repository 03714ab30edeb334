"""Hooks of agents whose server is far away: real hook processes, through TLS with a delay on every byte."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from bench.tls_relay import TlsRelay
from hooked import Done

from commonplace.client.link import remote
from commonplace.client.link.server_link import find_link
from patience import PATIENCE_SECONDS
from stream_server import serve_streams

ROUND_TRIPS = (0.0, 0.05, 0.15)


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    return 20 if request.config.getoption("--long") else 4


@pytest.mark.slow
@pytest.mark.parametrize("relay", ROUND_TRIPS, indirect=True)
@pytest.mark.usefixtures("relay")
async def test_every_start_edit_and_end_arrives(remote_agent, url: str, rounds: int):
    ben = remote_agent("codex", COMMONPLACE_AGENT="ben")
    packs, denials = [await ben.start()], []
    for round_ in range(rounds):
        file = f"src/cart{round_}.py"  # the one before is reserved for ben, who asked for it
        ann = remote_agent(COMMONPLACE_AGENT="ann")
        packs.append(await ann.start())
        assert await ann.edit(file) == Done(0, "", "")
        denials.append((await ben.edit(file)).denial)
        await ann.end()
        assert await asyncio.to_thread(list_locks, url, packs[0].session_id) == []
    assert [pack.context.startswith("You are the agent") for pack in packs] == [True] * (1 + rounds)
    assert ["leased by ann" in denial for denial in denials] == [True] * rounds


def list_locks(url: str, session_id: str) -> list[Any]:
    """Without the relay."""
    found = remote.call_operation(
        remote.RemoteServer(url), "memory_get_locks", {"session_id": session_id}, PATIENCE_SECONDS
    )
    return found["locks"]


async def test_authority_may_stand_in_the_configuration(relay: TlsRelay, remote_agent, home: Path):
    await asyncio.to_thread(home.mkdir)
    await asyncio.to_thread(
        (home / "config.toml").write_text, f"ca_file = {json.dumps(str(relay.ca_file))}\n"
    )
    assert "You are the agent" in (await remote_agent(COMMONPLACE_CA_FILE="").start()).context


async def test_authority_may_be_that_of_openssl(relay: TlsRelay, remote_agent):
    ann = remote_agent(COMMONPLACE_CA_FILE="", SSL_CERT_FILE=str(relay.ca_file))
    assert "You are the agent" in (await ann.start()).context


async def test_unknown_authority_is_named(remote_agent):
    warned = (await remote_agent(COMMONPLACE_CA_FILE="").start()).context
    assert "certificate verify failed" in warned
    assert "ca_file" in warned


async def test_calls_of_one_hook_share_a_connection(relay: TlsRelay, remote_agent):
    ann = remote_agent()
    await ann.start()
    await ann.edit("src/cart.py")
    assert relay.connection_count == 2


async def answer_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As some proxies do."""
    await reader.readuntil(b"\r\n\r\n{}")
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")


async def test_proxy_that_closes_after_each_answer_gets_a_connection_for_each_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    async with (
        serve_streams(answer_and_close) as proxy,
        TlsRelay(proxy.sockets[0].getsockname()[1], 0.0, tmp_path).run() as relay,
    ):
        monkeypatch.setenv("COMMONPLACE_CA_FILE", str(relay.ca_file))
        server = remote.RemoteServer(relay.url)
        link = find_link(relay.url)
        for _ in range(2):
            call = (link.call_operation, server, "memory_heartbeat", {}, (), PATIENCE_SECONDS)
            assert await asyncio.to_thread(*call) == {}
        assert relay.connection_count == 2
