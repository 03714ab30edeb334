"""Literal and regex search reads the bytes of sessions, whatever they are, a bounded amount at a time."""

import tracemalloc

import pytest
from sync_client import SyncClient, register_sync_client, search_places
from transcript_script import TranscriptScript

from commonplace.search.lines import OVERLAP_BYTES
from commonplace.transcripts.archive import frames, line_scan
from patience import PATIENCE_SECONDS
from team import Team

FRAME_BYTES = 1024 * 1024
NEEDLE = b'"the axolotl"'
AFTER = b"\n" + TranscriptScript().user("The axolotl again").content


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


@pytest.fixture(autouse=True)
def patient_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan ends early on a slow machine, which is right but not what these tests are about."""
    monkeypatch.setattr(line_scan, "_MAX_SCAN_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Frames and blocks so small that a line is soon far larger than both; the size of a block."""
    monkeypatch.setattr(frames, "FRAME_BYTES", 3 * OVERLAP_BYTES)
    monkeypatch.setattr(line_scan, "MAX_BLOCK_BYTES", 4 * OVERLAP_BYTES)
    return line_scan.MAX_BLOCK_BYTES


@pytest.mark.parametrize("mode", ["literal", "regex"])
async def test_search_sessions_holds_no_line_whole(
    sync: SyncClient, monkeypatch: pytest.MonkeyPatch, mode: str
):
    monkeypatch.setattr(line_scan, "MAX_BLOCK_BYTES", FRAME_BYTES // 4)
    await sync.upload("long", b"x" * (15 * FRAME_BYTES))
    tracemalloc.start()
    try:
        answer = await sync.search_sessions(query="axolotl", mode=mode)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer == {"matches": [], "truncated": False}
    assert peak < 10 * FRAME_BYTES


@pytest.mark.parametrize("mode", ["literal", "regex"])
async def test_search_sessions_finds_a_text_anywhere_in_a_line_of_any_length(
    sync: SyncClient, small: int, mode: str
):
    for place in (0, small - 5, 2 * small, 5 * small - 3, 9 * small):
        line = b"x" * place + NEEDLE + b"x" * (9 * small - place)
        await sync.upload(f"at-{place}", b"{}\n" + line + AFTER)
        answer = await sync.search_sessions(query="axolotl", mode=mode, limit=100)
        theirs = [each for each in answer["matches"] if each["session_id"] == f"at-{place}"]
        assert [(each["line"], each["role"]) for each in theirs] == [(1, "tool"), (2, "user")]
        assert NEEDLE.decode() in theirs[0]["snippet"]
        assert answer["truncated"] is False


async def test_search_sessions_regex_knows_the_ends_of_a_line_of_any_length(sync: SyncClient, small: int):
    await sync.upload("long", b"{}\n" + b"abc" * (3 * small) + b"d" + AFTER)
    assert await search_places(sync, "^(b|c)", mode="regex") == []
    assert await search_places(sync, "[abc]$", mode="regex") == []
    assert await search_places(sync, "^ab", mode="regex") == [("long", 1, "tool")]
    assert await search_places(sync, "bcd$", mode="regex") == [("long", 1, "tool")]


async def test_search_sessions_finds_a_text_in_a_long_line_that_is_not_finished(sync: SyncClient, small: int):
    await sync.upload("long", b"{}\n" + b"x" * (9 * small) + NEEDLE)
    assert await search_places(sync, "axolotl", mode="literal") == [("long", 1, "tool")]
