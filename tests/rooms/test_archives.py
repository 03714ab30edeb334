"""Sessions are kept byte for byte, appended where they end, and read by line."""

import base64
import gzip
import random
from pathlib import Path

import pytest
from sync_client import THREE_LINES, SyncClient, random_lines, register_sync_client, sha256_of

from commonplace import errors
from commonplace.transcripts.archive import upload
from commonplace.transcripts.archive.frames import FRAME_BYTES
from team import Team


@pytest.fixture
async def laptop(team: Team) -> SyncClient:
    return await register_sync_client(team)


async def test_upload_session_keeps_text_and_says_what_is_stored(laptop: SyncClient):
    reply = await laptop.upload_session(**laptop.workspace, session_id="s-1", content=THREE_LINES.decode())
    assert reply == {
        "status": "stored",
        "sha256": sha256_of(THREE_LINES),
        "lines": 3,
        "bytes": len(THREE_LINES),
        "compressed_bytes": reply["compressed_bytes"],
    }
    assert await laptop.read_all_bytes("s-1") == THREE_LINES


async def test_upload_session_takes_gzip(laptop: SyncClient):
    packed = base64.b64encode(gzip.compress(THREE_LINES[:10]) + gzip.compress(THREE_LINES[10:])).decode()
    reply = await laptop.upload_session(**laptop.workspace, session_id="s-1", content_gzip_base64=packed)
    assert (reply["status"], reply["sha256"]) == ("stored", sha256_of(THREE_LINES))
    assert await laptop.read_all_bytes("s-1") == THREE_LINES


async def test_upload_session_appends_where_the_stored_bytes_end(laptop: SyncClient):
    await laptop.upload("s-1", THREE_LINES[:12])
    reply = await laptop.upload("s-1", THREE_LINES[12:], 12)
    assert reply == {
        "status": "extended",
        "bytes": len(THREE_LINES),
        "lines": 3,
        "sha256": sha256_of(THREE_LINES),
    }
    assert (await laptop.read_raw_lines("s-1"))["lines"] == ['{"n": 0}', '{"n": 1}', '{"n": 2}']


async def test_upload_session_recognises_what_it_has(laptop: SyncClient):
    await laptop.upload("s-1", THREE_LINES)
    again = {"status": "duplicate", "bytes": len(THREE_LINES), "lines": 3, "sha256": sha256_of(THREE_LINES)}
    assert await laptop.upload("s-1", THREE_LINES) == again
    assert await laptop.upload("s-1", THREE_LINES[5:20], 5) == again


@pytest.mark.parametrize(
    ("content", "offset"),
    [
        (b"other bytes", 0),
        (THREE_LINES + b"more", 0),
        (THREE_LINES[3:9], 4),
        (b"later", len(THREE_LINES) + 1),
    ],
    ids=["other", "longer", "shifted", "gap"],
)
async def test_upload_session_at_another_place_is_a_conflict_with_the_stored_length(
    laptop: SyncClient, content: bytes, offset: int
):
    await laptop.upload("s-1", THREE_LINES)
    with pytest.raises(errors.Conflict) as refused:
        await laptop.upload("s-1", content, offset)
    assert refused.value.details == {"bytes": len(THREE_LINES)}
    assert await laptop.read_all_bytes("s-1") == THREE_LINES


async def test_upload_session_beyond_the_start_of_an_unknown_session_is_a_conflict(laptop: SyncClient):
    with pytest.raises(errors.Conflict) as refused:
        await laptop.upload("s-1", THREE_LINES, 5)
    assert refused.value.details == {"bytes": 0}


async def test_upload_session_of_many_parts_comes_back_bit_for_bit(laptop: SyncClient):
    whole = random_lines(3 * FRAME_BYTES + 12_345)
    at = 0
    for size in (1, FRAME_BYTES - 1, 1, 2 * FRAME_BYTES, 0):
        part = whole[at : at + size] if size else whole[at:]
        reply = await laptop.upload("s-1", part, at)
        at += len(part)
        assert (reply["bytes"], reply["sha256"]) == (at, sha256_of(whole[:at]))
    assert await laptop.read_all_bytes("s-1") == whole
    assert reply["lines"] == whole.count(b"\n") + 1


async def test_upload_session_goes_on_after_a_restart(laptop: SyncClient):
    whole = random_lines(2 * FRAME_BYTES)
    await laptop.upload("s-1", whole[: FRAME_BYTES + 5])
    upload._running.clear()
    reply = await laptop.upload("s-1", whole[FRAME_BYTES + 5 :], FRAME_BYTES + 5)
    assert reply["sha256"] == sha256_of(whole)


async def test_upload_session_accepts_the_hash_of_the_part_or_of_the_whole(laptop: SyncClient):
    await laptop.upload("s-1", THREE_LINES[:9], sha256=sha256_of(THREE_LINES[:9]))
    await laptop.upload("s-1", THREE_LINES[9:18], 9, sha256=sha256_of(THREE_LINES[9:18]))
    await laptop.upload("s-1", THREE_LINES[18:], 18, sha256=sha256_of(THREE_LINES).upper())
    assert await laptop.read_all_bytes("s-1") == THREE_LINES


async def test_upload_session_with_a_wrong_hash_is_refused(laptop: SyncClient):
    with pytest.raises(errors.Invalid):
        await laptop.upload("s-1", THREE_LINES, sha256=sha256_of(b"other"))
    with pytest.raises(errors.NotFound):
        await laptop.read_all_bytes("s-1")


async def test_upload_session_stores_transcripts_in_a_fifth_of_their_size(laptop: SyncClient):
    await laptop.upload("s-1", build_transcript(1_500_000))
    shown = (await laptop.list_sessions(workspace_id=laptop.workspace["workspace_id"]))["sessions"][0]
    assert shown["compressed_bytes"] <= 0.2 * shown["bytes"]


def build_transcript(size: int) -> bytes:
    """What an agent writes: ids, times, prose and code."""
    chance = random.Random(3)
    texts = [path.read_text() for path in sorted(Path(__file__).parent.glob("*.py"))]
    lines, length = [], 0
    while length < size:
        text = chance.choice(texts)
        start = chance.randrange(len(text))
        words = text[start : start + chance.randrange(100, 4000)]
        line = (
            f'{{"parentUuid":"{chance.randbytes(16).hex()}","isSidechain":false,"cwd":"/home/dev/shop",'
            f'"sessionId":"6f1c2a","version":"2.1.0","gitBranch":"main","type":"assistant","message":'
            f'{{"role":"assistant","content":[{{"type":"text","text":{words!r}}}]}},'
            f'"uuid":"{chance.randbytes(16).hex()}","timestamp":"2026-08-21T10:00:{len(lines) % 60:02}.123Z"}}\n'
        ).encode()
        lines.append(line)
        length += len(line)
    return b"".join(lines)


async def test_read_session_gives_any_page(laptop: SyncClient):
    lines = [f"{n} {'x' * (n % 900)}" for n in range(6000)]
    await laptop.upload("s-1", "\n".join(lines).encode())
    for offset in (0, 1, 2999, 5990):
        page = await laptop.read_raw_lines("s-1", offset=offset, limit=7)
        shown = lines[offset : offset + 7]
        assert page == {
            "lines": shown,
            "offset": offset,
            "total_lines": 6000,
            "has_more": offset + 7 < 6000,
        }


async def test_read_session_pages_are_the_whole_session(laptop: SyncClient):
    whole = random_lines(FRAME_BYTES + 100_000)
    await laptop.upload("s-1", whole)
    found, more = [], True
    while more:
        page = await laptop.read_raw_lines("s-1", offset=len(found), limit=1000, max_tokens=25_000)
        found += page["lines"]
        more = page["has_more"]
    assert found == [line.decode("utf-8", "replace") for line in whole.split(b"\n")]


async def test_read_session_beyond_its_end_is_empty(laptop: SyncClient):
    await laptop.upload("s-1", THREE_LINES)
    assert await laptop.read_raw_lines("s-1", offset=3) == {
        "lines": [], "offset": 3, "total_lines": 3, "has_more": False,
    }  # fmt: skip


async def test_read_session_shows_a_line_that_is_no_text_and_marks_it(laptop: SyncClient):
    await laptop.upload("s-1", b"good\n\xff\xfe bad\n a\0b \xed\xa0\x80\nlast\0")
    page = await laptop.read_raw_lines("s-1")
    assert page["lines"] == ["good", "\ufffd\ufffd bad", " a\0b \ufffd\ufffd\ufffd", "last\0"]
    assert page["inexact"] == [{"line": 1, "first_byte": 5}, {"line": 2, "first_byte": 12}]


async def test_read_session_cuts_a_line_that_is_too_long_and_goes_on_after_it(laptop: SyncClient):
    whole = b"first\n" + b"y" * (3 * FRAME_BYTES) + b"\nlast\n"
    await laptop.upload("s-1", whole)
    first = await laptop.read_raw_lines("s-1", max_tokens=100)
    assert (first["lines"], first["has_more"]) == (["first"], True)
    page = await laptop.read_raw_lines("s-1", offset=1, max_tokens=100)
    assert (page["lines"], page["inexact"]) == (["y" * 400], [{"line": 1, "first_byte": 6, "cut": True}])
    assert (await laptop.read_raw_lines("s-1", offset=2))["lines"] == ["last"]


async def test_read_session_finds_a_session_by_the_beginning_of_its_id(laptop: SyncClient):
    await laptop.upload("0123456789ab", THREE_LINES)
    await laptop.upload("0123456788cd", THREE_LINES)
    assert (await laptop.read_raw_lines("0123456789"))["total_lines"] == 3
    with pytest.raises(errors.Conflict) as refused:
        await laptop.read_raw_lines("01234567")
    assert refused.value.details == {"candidates": ["0123456788cd", "0123456789ab"]}
    for unknown in ("0123456", "0123456780"):
        with pytest.raises(errors.NotFound):
            await laptop.read_raw_lines(unknown)


async def test_session_whose_id_begins_another_is_a_session_of_its_own(laptop: SyncClient):
    for longer in ("0123456789ab", "0123456789ac"):
        await laptop.upload(longer, THREE_LINES)
    for beginning in ("01234567", "0123456789a"):
        with pytest.raises(errors.NotFound):
            await laptop.read_all_bytes(beginning)
        assert (await laptop.upload(beginning, b"other"))["status"] == "stored"
        assert await laptop.read_all_bytes(beginning) == b"other"


async def test_list_sessions_shows_the_archives_of_a_workspace_latest_first(team: Team, laptop: SyncClient):
    other = await register_sync_client(team, "tower")
    await other.upload("foreign", THREE_LINES)
    await laptop.upload("s-1", THREE_LINES, started_at="2027-01-15T07:00:00Z", tool="codex")
    team.clock.advance(minutes=5)
    await laptop.upload("s-2", THREE_LINES[:4])
    place = laptop.workspace["workspace_id"]
    listed = await laptop.list_sessions(workspace_id=place)
    assert [each["session_id"] for each in listed["sessions"]] == ["s-2", "s-1"]
    assert listed["total"] == 2
    assert listed["sessions"][1] == {
        "session_id": "s-1",
        "title": "",
        "started_at": "2027-01-15T07:00:00Z",
        "ended_at": "2027-01-15T08:00:00Z",
        "lines": 3,
        "bytes": len(THREE_LINES),
        "compressed_bytes": listed["sessions"][1]["compressed_bytes"],
        "sha256": sha256_of(THREE_LINES),
        "tool": "codex",
    }
    page = await laptop.list_sessions(workspace_id=place, limit=1, offset=1)
    assert ([each["session_id"] for each in page["sessions"]], page["total"]) == (["s-1"], 2)
    before = await laptop.list_sessions(workspace_id=place, until="2027-01-15T07:30:00Z")
    after = await laptop.list_sessions(workspace_id=place, since="2027-01-15T08:03:00Z")
    assert [[each["session_id"] for each in page["sessions"]] for page in (before, after)] == [
        ["s-1"],
        ["s-2"],
    ]


async def test_upload_session_counts_in_the_overview(laptop: SyncClient):
    await laptop.upload("s-1", THREE_LINES[:4])
    await laptop.upload("s-1", THREE_LINES[4:], 4)
    await laptop.upload("s-2", THREE_LINES)
    listed = await laptop.list_workspaces()
    assert [each["session_count"] for each in listed["workspaces"]] == [2]


async def test_read_session_goes_on_where_a_line_crosses_from_frame_to_frame(laptop: SyncClient):
    lines = [b"a" * (FRAME_BYTES - 10), b"b" * 5, b"c" * 300, b"d" * 3, b"unfinished"]
    await laptop.upload("s-1", b"\n".join(lines))
    page = await laptop.read_raw_lines("s-1", offset=1)
    assert page == {
        "lines": [line.decode() for line in lines[1:]],
        "offset": 1,
        "total_lines": 5,
        "has_more": False,
    }


async def test_upload_session_keeps_a_line_that_is_too_long_to_be_studied_and_studies_what_follows(
    laptop: SyncClient,
):
    long = b"x" * (9 * FRAME_BYTES)
    said = b'{"role": "user", "content": "hello"}\n'
    at = 0
    for part in (long, long, b"\n" + said):
        stored = await laptop.upload("s-1", part, at)
        at += len(part)
    assert (stored["lines"], stored["bytes"]) == (2, 2 * len(long) + 1 + len(said))
    chat = await laptop.read_session(
        workspace_id=laptop.workspace["workspace_id"], session_id="s-1", view="chat", offset=1
    )
    assert [(each["line"], each["text"]) for each in chat["messages"]] == [(1, "hello")]
