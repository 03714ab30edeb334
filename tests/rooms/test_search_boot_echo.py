"""A transcript repeats the boot pack that its session was given; search_sessions finds what was said instead.

The transcripts are recorded: Claude Code, Codex, Gemini CLI, Copilot CLI and opencode with hooks of Commonplace. A learning about
zebrafish stands in the boot pack that the hook injected, and in the reply of memory_start_session.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from sync_client import SyncClient, register_sync_client, search_places

from commonplace.rooms.archives import study_store
from commonplace.rooms.archives.restudy import restudy_sessions
from commonplace.store.database import Tx
from commonplace.transcripts.archive.study import STUDY_VERSION
from commonplace.transcripts.boot_echo import ECHO_TEXT
from team import Team

RECORDED = Path(__file__).parents[1] / "transcripts" / "recorded"
TOOLS = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "copilot": "copilot-cli",
    "opencode": "opencode",
}
WORD = "zebrafish"
PROMPTS: dict[str, dict[str, Any]] = {
    "claude": {"type": "user", "uuid": "u9", "parentUuid": "u8", "message": {"role": "user", "content": ""}},
    "codex": {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ""}]}},
    "gemini": {"id": "m9", "type": "user", "content": [{"text": ""}]},
    "opencode": {"opencode": "part", "id": "p9", "role": "user", "part": {"type": "text", "text": ""}},
    "copilot": {"type": "user.message", "id": "e9", "data": {"content": "", "messageId": "m9"}},
}  # fmt: skip

each_agent = pytest.mark.parametrize("agent", TOOLS)


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


def recorded(agent: str) -> bytes:
    content = (RECORDED / f"{agent}.jsonl").read_bytes()
    assert WORD in content.decode().lower()
    return content


def prompt_of(agent: str, text: str) -> bytes:
    """A person's prompt in the format of this agent."""
    line = json.dumps(PROMPTS[agent] | {"timestamp": "2026-11-16T18:00:00.000Z"})
    for empty in ('"content": ""', '"text": ""'):
        line = line.replace(empty, empty[:-1] + text + '"')
    return line.encode() + b"\n"


@each_agent
@pytest.mark.parametrize("mode", ["smart", "literal", "regex"])
async def test_word_that_only_the_boot_pack_has_is_not_found(sync: SyncClient, agent: str, mode: str):
    await sync.upload("s1", recorded(agent), tool=TOOLS[agent])
    assert await search_places(sync, WORD, mode=mode) == []


@each_agent
async def test_marked_echo_is_not_a_match_itself(sync: SyncClient, agent: str):
    await sync.upload("s1", recorded(agent), tool=TOOLS[agent])
    assert await search_places(sync, "of Commonplace", mode="literal") == []


@each_agent
@pytest.mark.parametrize("mode", ["smart", "literal", "regex"])
async def test_same_word_in_a_prompt_is_found(sync: SyncClient, agent: str, mode: str):
    content = recorded(agent)
    await sync.upload("s1", content + prompt_of(agent, "Where do we round zebrafish?"), tool=TOOLS[agent])
    answer = await sync.search_sessions(query=WORD, mode=mode)
    assert [(match["line"], match["role"], match["snippet"]) for match in answer["matches"]] == [
        (content.count(b"\n"), "user", "Where do we round zebrafish?")
    ]


@each_agent
async def test_prompt_beside_the_boot_pack_is_found_and_is_the_title(sync: SyncClient, agent: str):
    await sync.upload("s1", recorded(agent), tool=TOOLS[agent])
    matches = (await sync.search_sessions(query="cart"))["matches"]
    assert {match["role"] for match in matches} >= {"user"}
    assert not any("Commonplace" in match["snippet"] for match in matches)
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id="s1")
    assert page["summary"]["title"] in (
        "Why is the cart empty",
        "Round the cart totals, please",
        "Empty cart",
    )


async def test_chat_shows_where_the_boot_pack_stood(sync: SyncClient):
    await sync.upload("s1", recorded("gemini"), tool="gemini-cli")
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id="s1")
    shown = [(message["role"], message["text"]) for message in page["messages"]]
    first = shown.index(("system", ECHO_TEXT))
    assert shown[first + 1] == ("user", "Why is the cart empty")


async def test_sessions_that_an_older_parser_indexed_are_indexed_again(sync: SyncClient, team: Team):
    await sync.upload("s1", recorded("gemini"), tool="gemini-cli")

    async def pretend_older(tx: Tx) -> None:
        await tx.run("update session_study set parser = $1 where project = $2", STUDY_VERSION - 1, "shop")
        key = await study_store.find_session_to_study(tx, STUDY_VERSION)
        assert key is not None

    await team.database.write(pretend_older)
    await restudy_sessions(team.calls)
    assert await search_places(sync, WORD) == []
    assert await search_places(sync, "cart empty") != []
