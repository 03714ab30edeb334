"""A session as a chat: what was taken back is marked, and its summary says what it leaves out."""

import json
from typing import Any

import pytest
from sync_client import SyncClient, register_sync_client
from transcript_script import TranscriptScript

from team import Team


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


async def read_chat(sync: SyncClient, session_id: str, **more: Any) -> dict[str, Any]:
    return await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id=session_id, **more)


def build_prompt_line(text: str, uuid: str, parent: str) -> bytes:
    message = {"role": "user", "content": text}
    line = {"type": "user", "uuid": uuid, "parentUuid": parent, "message": message}
    return json.dumps(line).encode() + b"\n"


async def test_read_session_marks_what_a_later_part_took_back(sync: SyncClient):
    first = build_prompt_line("Empty the cart", "b", "a") + build_prompt_line("And the list", "c", "b")
    await sync.upload("cart", first)
    page = await read_chat(sync, "cart")
    assert [each.get("abandoned", False) for each in page["messages"]] == [False, False]
    await sync.upload("cart", build_prompt_line("Fill the cart", "d", "a"), offset=len(first))
    shown = [(await read_chat(sync, "cart", offset=line, limit=1))["messages"][0] for line in range(3)]
    assert [(each["text"], each.get("abandoned", False)) for each in shown] == [
        ("Empty the cart", True),
        ("And the list", True),
        ("Fill the cart", False),
    ]


async def test_read_session_finds_and_shows_words_beside_what_an_editor_wrote(sync: SyncClient):
    await sync.upload(
        "ide", TranscriptScript().user("<ide_opened_file>cart.py</ide_opened_file>\nTidy the zebra").content
    )
    page = await read_chat(sync, "ide")
    assert [each["text"] for each in page["messages"]] == ["Tidy the zebra"]
    assert page["summary"]["title"] == "Tidy the zebra"
    [match] = (await sync.search_sessions(query="zebra"))["matches"]
    assert match["snippet"] == "Tidy the zebra"


async def test_read_session_counts_what_its_summary_leaves_out(sync: SyncClient):
    script = TranscriptScript().user("Tidy")
    for n in range(18):
        script.use_tool("Edit", f"/shop/part{n}.py").use_tool("Read", f"/shop/docs{n}.md")
    for n in range(12):
        script.run(f"make part{n}")
    await sync.upload("tidy", script.content)
    summary = (await read_chat(sync, "tidy"))["summary"]
    assert summary["omitted"] == {"edited": 3, "read": 3, "commands": 2}
    assert {len(summary["edited"]), len(summary["read"])} == {15}
    assert {each.rsplit("/", 1)[1][:4] for each in summary["read"]} == {"docs"}


async def test_read_session_tells_no_exit_code_that_nobody_told(sync: SyncClient):
    await sync.upload(
        "behind", TranscriptScript().run("make", "Command running in background with ID: b1").content
    )
    summary = (await read_chat(sync, "behind"))["summary"]
    assert summary["commands"] == [{"command": "make", "runs": 1, "failures": 0}]
