"""The last line of a session is known as soon as it is a record, and only once."""

from itertools import pairwise
from typing import Any

import pytest
from archived import Sync, found, registered
from transcribed import Script

from commonplace.rooms.archives import study_store
from commonplace.rooms.archives.restudy import restudy_sessions
from commonplace.session_archive.study import STUDY_VERSION
from team import Team

TALK = Script().user("Where do otters sleep?").assistant("On their backs.").user("And where do badgers?")
WHOLE = TALK.content
OTTERS, BACKS, BADGERS = (line + b"\n" for line in TALK.lines)


@pytest.fixture
async def sync(team: Team) -> Sync:
    return await registered(team)


async def summary(sync: Sync, session_id: str) -> dict[str, Any]:
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id=session_id)
    return page["summary"]


async def test_search_sessions_finds_a_last_line_without_its_newline(sync: Sync):
    await sync.up("talk", WHOLE[:-1])
    assert await found(sync, "badgers") == [("talk", 2, "user")]
    assert (await summary(sync, "talk"))["user_messages"] == 2


@pytest.mark.parametrize("newline", [b"\n", b" \r\n"])
async def test_upload_session_takes_a_line_once_whose_newline_comes_later(sync: Sync, newline: bytes):
    part = OTTERS[:-1]
    await sync.up("talk", part)
    assert await found(sync, "otters") == [("talk", 0, "user")]
    await sync.up("talk", newline + BACKS[:-1], offset=len(part))
    await sync.up("talk", b"\n", offset=len(part + newline + BACKS) - 1)
    await sync.up("talk", BADGERS, offset=len(part + newline + BACKS))
    assert await found(sync, "otters backs badgers", per_session=9) == [("talk", 0, "user")]
    told = await summary(sync, "talk")
    assert (told["user_messages"], told["assistant_messages"], told.get("skipped_lines")) == (2, 1, None)
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id="talk")
    assert [each["line"] for each in page["messages"]] == [0, 1, 2]


async def test_upload_session_waits_for_the_rest_of_a_line_that_is_cut(sync: Sync):
    cuts = [0, 20, len(OTTERS), len(OTTERS) + 40, len(WHOLE) - 2, len(WHOLE)]
    for start, end in pairwise(cuts):
        await sync.up("talk", WHOLE[start:end], offset=start)
    told = await summary(sync, "talk")
    assert (told["user_messages"], told["assistant_messages"], told.get("skipped_lines")) == (2, 1, None)


async def test_read_session_sums_up_a_document_on_one_line_without_a_newline(sync: Sync):
    document = (
        b'{"sessionId": "g1", "projectHash": "ab", "messages": ['
        b'{"id": "m1", "type": "user", "content": "Which puffin nests here?"},'
        b'{"id": "m2", "type": "gemini", "content": "The tufted one"}]}'
    )
    await sync.up("g1", document, tool="gemini-cli")
    told = await summary(sync, "g1")
    assert (told["title"], told["assistant_messages"]) == ("Which puffin nests here?", 1)
    assert await found(sync, "puffin") == [("g1", 0, "user")]


async def test_sessions_that_are_read_again_keep_their_last_line(
    team: Team, sync: Sync, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(study_store, "STUDY_VERSION", STUDY_VERSION - 1)
    await sync.up("talk", WHOLE[:-1])
    monkeypatch.undo()
    await restudy_sessions(team.calls)
    assert await found(sync, "badgers") == [("talk", 2, "user")]
    await sync.up("talk", b"\n" + OTTERS, offset=len(WHOLE) - 1)
    assert (await summary(sync, "talk"))["user_messages"] == 3
