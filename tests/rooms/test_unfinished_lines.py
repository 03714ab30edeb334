"""The last line of a session is known as soon as it is a record, and only once."""

from itertools import pairwise
from typing import Any

import pytest
from sync_client import SyncClient, register_sync_client, search_places
from transcript_script import TranscriptScript

from commonplace.rooms.archives import study_store
from commonplace.rooms.archives.restudy import restudy_sessions
from commonplace.transcripts.archive.study import STUDY_VERSION
from team import Team

OTTER_SCRIPT = (
    TranscriptScript()
    .user("Where do otters sleep?")
    .assistant("On their backs.")
    .user("And where do badgers?")
)
OTTER_BYTES = OTTER_SCRIPT.content
OTTERS, BACKS, BADGERS = (line + b"\n" for line in OTTER_SCRIPT.lines)


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


async def read_summary(sync: SyncClient, session_id: str) -> dict[str, Any]:
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id=session_id)
    return page["summary"]


async def test_search_sessions_finds_a_last_line_without_its_newline(sync: SyncClient):
    await sync.upload("talk", OTTER_BYTES[:-1])
    assert await search_places(sync, "badgers") == [("talk", 2, "user")]
    assert (await read_summary(sync, "talk"))["user_messages"] == 2


@pytest.mark.parametrize("newline", [b"\n", b" \r\n"])
async def test_upload_session_takes_a_line_once_whose_newline_comes_later(sync: SyncClient, newline: bytes):
    part = OTTERS[:-1]
    await sync.upload("talk", part)
    assert await search_places(sync, "otters") == [("talk", 0, "user")]
    await sync.upload("talk", newline + BACKS[:-1], offset=len(part))
    await sync.upload("talk", b"\n", offset=len(part + newline + BACKS) - 1)
    await sync.upload("talk", BADGERS, offset=len(part + newline + BACKS))
    assert await search_places(sync, "otters backs badgers", per_session=9) == [("talk", 0, "user")]
    told = await read_summary(sync, "talk")
    assert (told["user_messages"], told["assistant_messages"], told.get("skipped_lines")) == (2, 1, None)
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id="talk")
    assert [each["line"] for each in page["messages"]] == [0, 1, 2]


async def test_upload_session_waits_for_the_rest_of_a_line_that_is_cut(sync: SyncClient):
    cuts = [0, 20, len(OTTERS), len(OTTERS) + 40, len(OTTER_BYTES) - 2, len(OTTER_BYTES)]
    for start, end in pairwise(cuts):
        await sync.upload("talk", OTTER_BYTES[start:end], offset=start)
    told = await read_summary(sync, "talk")
    assert (told["user_messages"], told["assistant_messages"], told.get("skipped_lines")) == (2, 1, None)


async def test_read_session_sums_up_a_document_on_one_line_without_a_newline(sync: SyncClient):
    document = (
        b'{"sessionId": "g1", "projectHash": "ab", "messages": ['
        b'{"id": "m1", "type": "user", "content": "Which puffin nests here?"},'
        b'{"id": "m2", "type": "gemini", "content": "The tufted one"}]}'
    )
    await sync.upload("g1", document, tool="gemini-cli")
    told = await read_summary(sync, "g1")
    assert (told["title"], told["assistant_messages"]) == ("Which puffin nests here?", 1)
    assert await search_places(sync, "puffin") == [("g1", 0, "user")]


async def test_sessions_that_are_read_again_keep_their_last_line(
    team: Team, sync: SyncClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(study_store, "STUDY_VERSION", STUDY_VERSION - 1)
    await sync.upload("talk", OTTER_BYTES[:-1])
    monkeypatch.undo()
    await restudy_sessions(team.calls)
    assert await search_places(sync, "badgers") == [("talk", 2, "user")]
    await sync.upload("talk", b"\n" + OTTERS, offset=len(OTTER_BYTES) - 1)
    assert (await read_summary(sync, "talk"))["user_messages"] == 3
