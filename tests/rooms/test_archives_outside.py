"""Full frames may live in a folder or a bucket: what is there is used or removed, and never anything else is shown."""

import asyncio
import http.client
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store
from sync_client import SyncClient, random_lines, register_sync_client, sha256_of

from commonplace import config, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.rooms.archives import study_store
from commonplace.rooms.archives.restudy import restudy_sessions
from commonplace.server import delete_old_rows
from commonplace.store.database import Database
from commonplace.transcripts.archive.frames import FRAME_BYTES
from commonplace.transcripts.archive.study import STUDY_VERSION
from patience import PATIENCE_SECONDS
from team import HandClock, Team

pytestmark = pytest.mark.slow

THREE_FRAMES = random_lines(2 * FRAME_BYTES + 77_000)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of an S3-compatible store on this machine, as the AWS_* variables name it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").disabled = True
    server.start()
    host, port = server.get_host_and_port()
    named = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in named.items():
            patch.setenv(name, value)
        connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
        connection.request("PUT", "/transcripts")
        assert connection.getresponse().status == 200
        connection.close()
        yield "s3://transcripts/archives"
    server.stop()


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "bucket":
        bucket: str = request.getfixturevalue("bucket")
        return f"{bucket}/{tmp_path.name}"
    return str(tmp_path / "bodies")


@pytest.fixture
async def team(database: Database, clock: HandClock, place: str) -> AsyncIterator[Team]:
    calls = Calls(database, CATALOGUE, config.read_settings({"archives": place}, {}), clock)
    await calls.bus.open()
    yield Team(calls, clock)
    await calls.bus.close()


@pytest.fixture
async def laptop(team: Team) -> SyncClient:
    return await register_sync_client(team)


def read_stored_bodies(place: str) -> dict[str, bytes]:
    """Every body that is there, by its name."""
    if place.startswith("s3://"):
        store = S3Store.from_url(place)
        names = [each["path"] for batch in obstore.list(store) for each in batch]
        return {name: bytes(obstore.get(store, name).bytes()) for name in names}
    files = [path for path in Path(place).rglob("*") if path.is_file()]
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


def damage_bodies(place: str) -> None:
    for name, body in read_stored_bodies(place).items():
        other = body[:-9] + bytes(9)
        if place.startswith("s3://"):
            obstore.put(S3Store.from_url(place), name, other)
        else:
            Path(place, name).write_bytes(other)


def remove_bodies(place: str) -> None:
    for name in read_stored_bodies(place):
        if place.startswith("s3://"):
            obstore.delete(S3Store.from_url(place), name)
        else:
            Path(place, name).unlink()


async def test_upload_session_puts_full_frames_outside_and_reads_them_back(laptop: SyncClient, place: str):
    await laptop.upload("s-1", THREE_FRAMES[: FRAME_BYTES + 9])
    reply = await laptop.upload("s-1", THREE_FRAMES[FRAME_BYTES + 9 :], FRAME_BYTES + 9)
    assert (reply["bytes"], reply["sha256"]) == (len(THREE_FRAMES), sha256_of(THREE_FRAMES))
    assert await laptop.read_all_bytes("s-1") == THREE_FRAMES
    names = sorted(read_stored_bodies(place))
    frames = [sha256_of(THREE_FRAMES[:FRAME_BYTES]), sha256_of(THREE_FRAMES[FRAME_BYTES : 2 * FRAME_BYTES])]
    assert [name.split("-")[0] for name in names] == sorted(f"shop/{each[:2]}/{each}" for each in frames)


async def test_sweep_removes_what_an_upload_left_behind_and_nothing_else(
    team: Team, laptop: SyncClient, place: str
):
    rivals = [random_lines(FRAME_BYTES, 8), random_lines(FRAME_BYTES, 9)]
    outcomes = await asyncio.gather(*(laptop.upload("s-1", each) for each in rivals), return_exceptions=True)
    first = next(each for each, outcome in zip(rivals, outcomes, strict=True) if isinstance(outcome, dict))
    await delete_old_rows(team.calls)
    assert len(read_stored_bodies(place)) == 2
    team.clock.advance(days=2)
    await delete_old_rows(team.calls)
    assert [name.split("/")[-1].split("-")[0] for name in read_stored_bodies(place)] == [sha256_of(first)]
    assert await laptop.read_all_bytes("s-1") == first


async def test_read_session_of_damaged_bytes_is_refused(laptop: SyncClient, place: str):
    await laptop.upload("s-1", THREE_FRAMES)
    damage_bodies(place)
    with pytest.raises(errors.Unavailable):
        await laptop.read_all_bytes("s-1")
    with pytest.raises(errors.Unavailable):
        await laptop.read_raw_lines("s-1")


@pytest.mark.parametrize("lose", [damage_bodies, remove_bodies])
async def test_search_sessions_goes_on_after_a_session_that_is_damaged(
    laptop: SyncClient, place: str, lose: Callable[[str], None]
):
    await laptop.upload("lost", b"axolotl\n" + b"x" * FRAME_BYTES)
    lose(place)
    await laptop.upload("whole", b"axolotl\n")
    answer = await laptop.search_sessions(query="axolotl", mode="literal")
    assert [each["session_id"] for each in answer["matches"]] == ["whole"]
    assert answer["truncated"] is True


async def test_read_session_of_missing_bytes_tells_which(laptop: SyncClient, place: str):
    await laptop.upload("s-1", THREE_FRAMES)
    remove_bodies(place)
    with pytest.raises(errors.Unavailable, match=f"bytes 0 to {FRAME_BYTES} "):
        await laptop.read_all_bytes("s-1")


async def test_sessions_are_read_again_though_one_of_them_is_damaged(
    team: Team, laptop: SyncClient, place: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(study_store, "STUDY_VERSION", STUDY_VERSION - 1)
    for name in ("a", "b", "c"):
        await laptop.upload(name, b'{"role":"user","content":"Where is the axolotl?"}\n')
    await laptop.upload("b", b"x" * FRAME_BYTES, offset=50)
    monkeypatch.undo()
    damage_bodies(place)
    await restudy_sessions(team.calls)
    answer = await laptop.search_sessions(query="axolotl")
    assert sorted(each["session_id"] for each in answer["matches"]) == ["a", "c"]


async def test_read_session_says_when_the_place_is_not_configured(team: Team, laptop: SyncClient):
    await laptop.upload("s-1", THREE_FRAMES)
    calls = Calls(team.database, CATALOGUE, replace(team.calls.settings, archives="store"), team.clock)
    other = SyncClient(calls)
    other.workspace = laptop.workspace
    with pytest.raises(errors.Unavailable):
        await other.read_all_bytes("s-1")


async def test_upload_session_is_refused_when_the_place_is_away(
    database: Database, clock: HandClock, tmp_path: Path
):
    (tmp_path / "file").write_text("no folder")
    calls = Calls(database, CATALOGUE, Settings(archives=str(tmp_path / "file")), clock)
    laptop = await register_sync_client(Team(calls, clock))
    with pytest.raises(errors.Unavailable):
        await laptop.upload("s-1", THREE_FRAMES)
    assert await laptop.list_sessions(workspace_id=laptop.workspace["workspace_id"]) == {
        "sessions": [],
        "total": 0,
    }
