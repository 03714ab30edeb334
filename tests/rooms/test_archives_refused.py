"""Hostile uploads: each is refused with its code and one line in the log, and nothing changes."""

import asyncio
import gzip
import logging
import secrets
from typing import Any

import pytest
from sync_client import THREE_LINES, SyncClient, random_lines, register_sync_client

from commonplace import errors, zstd
from commonplace.access import Caller
from commonplace.transcripts.archive import frames, upload
from team import Team

_MEGABYTE_BYTES = 1024 * 1024
SHOP = frozenset({"shop"})


@pytest.fixture
async def laptop(team: Team) -> SyncClient:
    sync = await register_sync_client(team)
    await sync.upload("s-1", THREE_LINES)
    return sync


async def assert_refused(
    sync: SyncClient, caplog: pytest.LogCaptureFixture, expected: type[errors.Refusal], **given: Any
) -> None:
    """An upload is refused, nothing has changed, and the log has one line of it."""
    caplog.clear()
    caplog.set_level(logging.INFO)
    before = await sync.list_sessions(workspace_id=sync.workspace["workspace_id"])
    with pytest.raises(expected) as raised:
        await sync.upload(**{"session_id": "s-1", "content": b"more\n", "offset": len(THREE_LINES)} | given)
    lines = [record.code for record in caplog.records if record.message == "refused"]
    assert lines == [raised.value.code]
    assert await sync.list_sessions(workspace_id=sync.workspace["workspace_id"]) == before
    assert await sync.read_all_bytes("s-1") == THREE_LINES


ZEROS = b"\0" * (100 * _MEGABYTE_BYTES)
WIDE_WINDOW_COMPRESSOR = zstd.ZstdCompressor(options={int(zstd.CompressionParameter.window_log): 27})
REFUSED_BODIES = {
    "gzip bomb": ("gzip", gzip.compress(ZEROS), errors.TooLarge),
    "gzip bomb in two members": ("gzip", gzip.compress(ZEROS[: 9 * _MEGABYTE_BYTES]) * 2, errors.TooLarge),
    "gzip truncated": ("gzip", gzip.compress(THREE_LINES)[:-1], errors.Invalid),
    "gzip with a wrong checksum": ("gzip", gzip.compress(THREE_LINES)[:-8] + bytes(8), errors.Invalid),
    "gzip with garbage after it": ("gzip", gzip.compress(THREE_LINES) + b"garbage", errors.Invalid),
    "gzip of too many members": ("gzip", gzip.compress(b"") * 5000, errors.Invalid),
    "no gzip": ("gzip", THREE_LINES, errors.Invalid),
    "zstd bomb": ("zstd", zstd.compress(ZEROS), errors.TooLarge),
    "zstd bomb in two frames": ("zstd", zstd.compress(ZEROS[: 9 * _MEGABYTE_BYTES]) * 2, errors.TooLarge),
    "zstd truncated": ("zstd", zstd.compress(THREE_LINES)[:-1], errors.Invalid),
    "zstd with garbage after it": ("zstd", zstd.compress(THREE_LINES) + b"garbage", errors.Invalid),
    "zstd of too many frames": ("zstd", zstd.compress(b"") * 5000, errors.Invalid),
    "zstd with a huge window": (
        "zstd",
        WIDE_WINDOW_COMPRESSOR.compress(THREE_LINES) + WIDE_WINDOW_COMPRESSOR.flush(),
        errors.Invalid,
    ),
    "nothing": ("identity", b"", errors.Invalid),
    "gzip of nothing": ("gzip", gzip.compress(b""), errors.Invalid),
}


@pytest.mark.parametrize("case", REFUSED_BODIES)
async def test_upload_session_of_a_bad_body_is_refused(
    laptop: SyncClient, caplog: pytest.LogCaptureFixture, case: str
):
    encoding, body, expected = REFUSED_BODIES[case]
    await assert_refused(laptop, caplog, expected, content=body, encoding=encoding)


@pytest.mark.parametrize(
    "session_id",
    ["", ".", "..", "../../etc/passwd", "a/b", "a\\b", "a\0b", ".hidden", "-flag", "a b", "é", "a\n", "a" * 201, "%2e%2e"],
)  # fmt: skip
async def test_upload_session_of_a_hostile_name_is_refused(
    laptop: SyncClient, caplog: pytest.LogCaptureFixture, session_id: str
):
    await assert_refused(laptop, caplog, errors.Invalid, session_id=session_id)


async def test_upload_session_with_a_foreign_or_wrong_token_is_refused(
    team: Team, laptop: SyncClient, caplog: pytest.LogCaptureFixture
):
    tower = await register_sync_client(team, "tower")
    for token in (tower.workspace["write_token"], "cwt_" + secrets.token_urlsafe(32), "é"):
        await assert_refused(laptop, caplog, errors.Forbidden, write_token=token)


async def test_upload_session_is_refused_before_the_body_is_unpacked_when_the_token_is_wrong(
    laptop: SyncClient, caplog: pytest.LogCaptureFixture
):
    await assert_refused(
        laptop, caplog, errors.Forbidden, write_token="x", content=b"no gzip", encoding="gzip"
    )


async def test_upload_session_needs_the_role_the_project_and_the_machine(
    team: Team, laptop: SyncClient, caplog: pytest.LogCaptureFixture
):
    callers = {
        Caller("readonly", SHOP, "k1"): errors.Forbidden,
        Caller("sync", frozenset({"other"}), "k2"): errors.NotFound,
        Caller("sync", SHOP, "k3", machines=frozenset({"tower"})): errors.Forbidden,
    }
    for caller, expected in callers.items():
        stranger = SyncClient(team.calls, caller=caller)
        stranger.workspace = laptop.workspace
        caplog.clear()
        with pytest.raises(expected):
            await stranger.upload("s-1", b"more\n", len(THREE_LINES))
    assert await laptop.read_all_bytes("s-1") == THREE_LINES


async def test_read_session_and_list_sessions_are_for_those_who_see_the_project(
    team: Team, laptop: SyncClient
):
    stranger = SyncClient(team.calls, caller=Caller("owner", frozenset({"other"}), "k1"))
    stranger.workspace = laptop.workspace
    for asking in (
        stranger.read_raw_lines("s-1"),
        stranger.read_all_bytes("s-1"),
        stranger.list_sessions(workspace_id=laptop.workspace["workspace_id"]),
    ):
        with pytest.raises(errors.NotFound):
            await asking
    for role in ("readonly", "sync", "agent"):
        reader = SyncClient(team.calls, caller=Caller(role, SHOP, "k2"))
        reader.workspace = laptop.workspace
        assert await reader.read_all_bytes("s-1") == THREE_LINES
        assert (await reader.read_raw_lines("s-1"))["total_lines"] == 3


async def test_list_sessions_shows_sync_no_blackboards(team: Team):
    await team.anyone().create_session(purpose="Design the cart API", project="shop")
    sync = SyncClient(team.calls, caller=Caller("sync", SHOP, "k1"))
    assert await sync.list_sessions() == {"sessions": [], "total": 0}
    assert (await team.anyone().list_sessions())["total"] == 1


async def test_upload_session_is_bounded_in_a_part_and_in_all(
    laptop: SyncClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    await assert_refused(laptop, caplog, errors.TooLarge, content=bytes(frames.MAX_PART_BYTES + 1))
    monkeypatch.setattr(upload, "MAX_SESSION_BYTES", len(THREE_LINES) + 4)
    await assert_refused(laptop, caplog, errors.TooLarge)


async def test_upload_session_needs_one_kind_of_content(laptop: SyncClient):
    for content in ({}, {"content": "a\n", "content_gzip_base64": ""}, {"content_gzip_base64": "no base64"}):
        with pytest.raises(errors.Invalid):
            await laptop.upload_session(**laptop.workspace, session_id="s-2", **content)


async def test_upload_session_twice_at_once_keeps_one(laptop: SyncClient):
    parts = [random_lines(50_000, seed) for seed in range(4)]
    outcomes = await asyncio.gather(*(laptop.upload("s-2", part) for part in parts), return_exceptions=True)
    kept = [part for part, outcome in zip(parts, outcomes, strict=True) if isinstance(outcome, dict)]
    others = [outcome for outcome in outcomes if not isinstance(outcome, dict)]
    assert [type(outcome) for outcome in others] == [errors.Conflict] * 3
    assert [outcome.details["bytes"] for outcome in others] == [50_000] * 3
    assert await laptop.read_all_bytes("s-2") == kept[0]


async def test_upload_session_twice_at_once_extends_by_one(laptop: SyncClient):
    parts = [random_lines(50_000, seed) for seed in range(4)]
    outcomes = await asyncio.gather(
        *(laptop.upload("s-1", part, len(THREE_LINES)) for part in parts), return_exceptions=True
    )
    kept = [part for part, outcome in zip(parts, outcomes, strict=True) if isinstance(outcome, dict)]
    assert len(kept) == 1
    assert await laptop.read_all_bytes("s-1") == THREE_LINES + kept[0]
    shown = (await laptop.list_sessions(workspace_id=laptop.workspace["workspace_id"]))["sessions"]
    assert [each["bytes"] for each in shown] == [len(THREE_LINES) + 50_000]
