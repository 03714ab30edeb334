"""What an upload holds in memory: a part has up to 16 MB, and four may be sent at once."""

import tracemalloc

import pytest
from sync_client import SyncClient, register_sync_client
from transcript_script import TranscriptScript

from team import Team

PART_BYTES = 4 * 1024 * 1024
MAX_COPIES = 4
"""Beside the body that was sent: three while secrets are masked, and what is small. It was six, lines and all."""


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


def long_transcript(size: int) -> bytes:
    """At least so many bytes, mostly what tools returned."""
    output = "what a tool returned, line by line\n" * 40
    script = TranscriptScript()
    for number in range(size // len(output)):
        script.run(f"cat {number}.txt", output)
    return script.content


@pytest.mark.parametrize("secret", ["", "ghp_" + "a1B2" * 9])
async def test_upload_session_holds_few_copies_of_a_part(sync: SyncClient, secret: str):
    transcript = long_transcript(PART_BYTES)
    whole = transcript + TranscriptScript().user(f"Use {secret}").content + transcript
    await sync.upload("s-1", whole[:PART_BYTES])
    part = whole[PART_BYTES : 2 * PART_BYTES]
    tracemalloc.start()
    try:
        receipt = await sync.upload("s-1", part, PART_BYTES)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (receipt["status"], receipt["bytes"]) == ("extended", 2 * PART_BYTES)
    assert peak < MAX_COPIES * PART_BYTES
