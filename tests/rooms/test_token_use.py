"""What agents used today is read from their transcripts: tokens, cost where it is written down, and context."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from sync_client import SyncClient, register_sync_client
from test_handoffs_from_transcripts import injected_line

from commonplace.clock import iso
from team import Team


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


def answer_line(at: str, usage: dict[str, int], *, message: str = "m1", sidechain: bool = False) -> bytes:
    said = {
        "role": "assistant",
        "id": message,
        "model": "claude-opus-4-6",
        "content": [{"type": "text", "text": "Done."}],
        "usage": usage,
    }
    record = {
        "type": "assistant",
        "uuid": f"u{message}{at}",
        "timestamp": at,
        "isSidechain": sidechain,
        "message": said,
    }
    return json.dumps(record).encode() + b"\n"


def usage(fresh: int, written: int, cached: int = 0) -> dict[str, int]:
    return {"input_tokens": fresh, "output_tokens": written, "cache_read_input_tokens": cached}


async def upload_today(team: Team, sync: SyncClient, *lines: bytes) -> Any:
    alice = await team.agent("alice")
    await sync.upload("c1", injected_line(alice.session_id) + b"".join(lines))
    return await team.anyone().call("memory_list_token_use", project="shop")


def agent_figures(reply: Any) -> Sequence[Any]:
    names = ("agent", "model", "input_tokens", "output_tokens", "cached_tokens", "context_tokens")
    return [[agent.get(name, 0) for name in names] for agent in reply["agents"]]


async def test_list_token_use_adds_up_the_messages_of_today(team: Team, sync: SyncClient):
    now = iso(team.clock())
    yesterday = iso(team.clock() - 24 * 3600 * 1_000_000)
    reply = await upload_today(
        team,
        sync,
        answer_line(yesterday, usage(500, 500), message="m0"),
        answer_line(now, usage(100, 20, 3000), message="m1"),
        # The same message is written again for each of its parts.
        answer_line(now, usage(100, 40, 3000), message="m1"),
        answer_line(now, usage(50, 10, 4000), message="m2"),
    )
    assert agent_figures(reply) == [["alice", "claude-opus-4-6", 150, 50, 7000, 4050]]
    assert reply["total"] == {"input_tokens": 150, "output_tokens": 50, "cached_tokens": 7000}
    assert reply["transcripts"] == 1


async def test_list_token_use_counts_a_sidechain_but_not_as_context(team: Team, sync: SyncClient):
    now = iso(team.clock())
    reply = await upload_today(
        team,
        sync,
        answer_line(now, usage(100, 20), message="m1"),
        answer_line(now, usage(9, 1), message="s1", sidechain=True),
    )
    assert agent_figures(reply) == [["alice", "claude-opus-4-6", 109, 21, 0, 100]]


async def test_list_token_use_goes_on_where_the_transcript_grows(team: Team, sync: SyncClient):
    now = iso(team.clock())
    first = answer_line(now, usage(100, 20), message="m1")
    alice = await team.agent("alice")
    begun = injected_line(alice.session_id) + first
    await sync.upload("c1", begun)
    await sync.upload("c1", answer_line(now, usage(1, 2), message="m2"), offset=len(begun))
    reply = await team.anyone().call("memory_list_token_use", project="shop")
    assert agent_figures(reply) == [["alice", "claude-opus-4-6", 101, 22, 0, 1]]


async def test_list_token_use_has_nothing_of_yesterday(team: Team, sync: SyncClient):
    await upload_today(team, sync, answer_line(iso(team.clock()), usage(100, 20)))
    team.clock.advance(days=1)
    reply = await team.anyone().call("memory_list_token_use", project="shop")
    assert (reply["total"], reply["agents"]) == ({}, [])
