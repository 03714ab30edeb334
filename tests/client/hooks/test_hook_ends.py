"""The end of a session arrives: at once, or later if the server did not answer, and never after a resume."""

import asyncio
import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hooked import Agent, repository, run
from silent_server import SilentServer

import product
from commonplace import access
from commonplace.client.companion import ends
from commonplace.client.link import remote
from commonplace.client.link.server_link import ServerLink, find_link
from patience import PATIENCE_SECONDS


@pytest.fixture
def silent() -> Iterator[SilentServer]:
    server = SilentServer()
    yield server
    server.close()


@pytest.fixture
def record(url: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> ServerLink:
    """What the hooks of this home remember of the server."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    return find_link(url)


def read_ends(home: Path) -> list[dict[str, Any]]:
    paths = sorted((home / "ends").glob("*-*"))
    return [json.loads(path.read_bytes()) for path in paths if path.suffix in (".json", ".sending")]


def call(url: str, operation: str, **arguments: Any) -> dict[str, Any]:
    return remote.call_operation(remote.RemoteServer(url), operation, arguments, PATIENCE_SECONDS)


def list_lock_holders(url: str, session_id: str) -> list[str]:
    return [lock["held_by"] for lock in call(url, "memory_get_locks", session_id=session_id)["locks"]]


@pytest.fixture
async def reader(url: str) -> str:
    """The session of somebody who looks at the locks."""
    started = await asyncio.to_thread(
        call, url, "memory_start_session", project="shop", claude_instance="eve"
    )
    return started["session_id"]


async def test_end_leaves_nothing_behind(agent, url, home, reader):
    ann = agent()
    await ann.edit("src/cart.py")
    await ann.end()
    assert await asyncio.to_thread(list_lock_holders, url, reader) == []
    assert [path.name for path in (home / "ends").iterdir()] == []


async def test_end_arrives_from_a_folder_whose_name_is_not_ascii(agent, url, home, tmp_path):
    ann = agent(cwd=repository(tmp_path / "Büro überall", "src/cart.py"), COMMONPLACE_AGENT="jürgen")
    await ann.edit("src/cart.py")
    started = await asyncio.to_thread(call, url, "memory_start_session", project="büro_überall")
    assert await asyncio.to_thread(list_lock_holders, url, started["session_id"]) == ["jürgen"]
    await ann.end()
    assert await asyncio.to_thread(list_lock_holders, url, started["session_id"]) == []
    assert read_ends(home) == []


async def end_unheard(agent: Agent, record: ServerLink) -> None:
    """The agent ends while its server is known to be away, which then comes back."""
    record.mark_away()
    assert (await agent.end()).stdout == ""
    record.record_answer(0.0)


async def test_end_is_delivered_by_sync(near, record, url, home, reader, shop):
    ann = near()
    await ann.edit("src/cart.py")
    await end_unheard(ann, record)
    await run(product.command("sync", "run", "--spool"), shop, ann.environ)
    assert await asyncio.to_thread(list_lock_holders, url, reader) == []
    assert read_ends(home) == []


async def test_end_is_not_delivered_to_a_conversation_that_was_resumed(near, record, url, home, reader, shop):
    ann = near(COMMONPLACE_AGENT="ann")
    await ann.edit("src/cart.py")
    await end_unheard(ann, record)
    await ann.start()
    assert read_ends(home) == []
    await run(product.command("sync", "run", "--spool"), shop, ann.environ)
    assert await asyncio.to_thread(list_lock_holders, url, reader) == ["ann"]
    assert (await ann.edit("src/tax.py")).denial == ""


async def test_end_is_on_disk_before_the_server_is_asked_and_the_uploader_starts_after(
    silent, agent, home, tmp_path
):
    transcript = tmp_path / "session.jsonl"
    await asyncio.to_thread(transcript.write_text, "{}\n")
    ann = replace(agent(COMMONPLACE_HOOKS_TRANSCRIPTS="on"), transcript=str(transcript))
    await ann.edit("src/cart.py")
    seen: list[tuple[int, bool]] = []
    silent.on_accept = lambda: seen.append((len(read_ends(home)), (home / "sync.log").exists()))
    ann.environ |= {"COMMONPLACE_URL": silent.url, "COMMONPLACE_HOOKS_SECONDS": "1"}
    await ann.end()
    assert seen[0] == (1, False)
    assert await asyncio.to_thread((home / "sync.log").exists)
    assert len(read_ends(home)) == 1


async def test_end_of_a_session_that_has_ended_counts_as_delivered(near, record, url, home, shop):
    ann = near()
    session = (await ann.start()).session_id
    await end_unheard(ann, record)
    await asyncio.to_thread(call, url, "memory_end_session", session_id=session, summary="Done")
    await run(product.command("sync", "run", "--spool"), shop, ann.environ)
    assert read_ends(home) == []


async def test_end_that_the_key_may_not_send_is_not_tried_again(team, agent, home):
    created = await team.calls.run(
        "memory_admin",
        {"action": "create_key", "name": "r", "role": "readonly", "projects": ["shop"]},
        access.OPERATOR,
    )
    reader = agent(COMMONPLACE_KEY=created.reply.key)
    await reader.start()
    await reader.end()
    assert read_ends(home) == []


async def test_end_goes_to_its_own_server_only(near, record, silent, home, shop):
    ann = near()
    await ann.start()
    await end_unheard(ann, record)
    await run(product.command("sync", "run", "--spool"), shop, ann.environ | {"COMMONPLACE_URL": silent.url})
    assert (len(read_ends(home)), len(silent.accepted)) == (1, 0)


@pytest.fixture
def ends_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    return home / "ends"


def add_end(conversation: str) -> ends.PendingEnd:
    return ends.add_end(conversation, "https://far.example", "/shop", f"secret of {conversation}", [])


def test_ends_are_listed_in_their_order_and_readable_by_their_owner_only(ends_folder):
    added = [add_end(name) for name in ("a", "b", "c")]
    assert ends.list_ends() == added
    assert {path.stat().st_mode & 0o777 for path in ends_folder.iterdir()} == {0o600}


@pytest.mark.usefixtures("ends_folder")
def test_end_is_sent_by_one_process():
    end = add_end("a")
    claims = [end.claim_delivery(), end.claim_delivery()]
    assert [claim is not None for claim in claims] == [True, False]
    assert ends.list_ends() == []
    claims[0].release_claim()
    assert ends.list_ends() == [end]


@pytest.mark.usefixtures("ends_folder")
def test_end_of_a_process_that_died_while_it_sent_is_sent_again():
    end = add_end("a")
    claim = end.claim_delivery()
    os.utime(claim.path, (0, 0))
    assert ends.list_ends() == [end]


def test_ends_expire_and_stay_bounded(ends_folder, monkeypatch):
    add_end("old")
    (old,) = ends_folder.iterdir()
    week_ago = time.time_ns() - 8 * 86_400 * 10**9
    old.rename(ends_folder / f"{week_ago:020d}-00000000.json")
    (ends_folder / f"{time.time_ns():020d}-11111111.json").write_text("{")
    monkeypatch.setattr(ends, "_MAX_ENDS", 3)
    added = [add_end(str(number)) for number in range(5)]
    assert ends.list_ends() == added[-3:]


@pytest.mark.usefixtures("ends_folder")
def test_resumed_conversation_cancels_its_end_only():
    add_end("a")
    other = add_end("b")
    ends.cancel_ends("a")
    assert ends.list_ends() == [other]
