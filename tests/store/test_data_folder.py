"""Files with the team's knowledge are readable by their owner only, whoever created them and with whatever umask."""

import os
import stat
from pathlib import Path

import pytest

from commonplace.data_folder import DataFolder
from commonplace.store.migrate import migrate
from commonplace.store.sqlite import Sqlite
from commonplace.transcripts.archive.frame_storage import open_frame_storage
from team import HandClock


@pytest.fixture(autouse=True)
def open_umask():
    """As careless as a user can be."""
    before = os.umask(0)
    yield
    os.umask(before)


def list_open_files(folder: Path) -> list[str]:
    """What others can read, write or enter."""
    return [
        path.name
        for path in (folder, *folder.rglob("*"))
        if stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    ]


async def test_new_store_is_private(tmp_path: Path):
    store = Sqlite(tmp_path / "data", HandClock())
    await migrate(store)
    assert list_open_files(tmp_path / "data") == []
    await store.close()


async def test_store_that_others_could_read_is_made_private_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "commonplace.db").touch()
    DataFolder(folder).close()
    assert list_open_files(folder) == []
    [record] = [record for record in caplog.records if record.message == "made private"]
    assert "commonplace.db" in record.__dict__["files"]


def test_files_of_others_and_their_folder_keep_their_modes(tmp_path: Path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    (folder / "notes.txt").touch(mode=0o644)
    (folder / "commonplace.db").touch(mode=0o644)
    DataFolder(folder).close()
    assert sorted(list_open_files(folder)) == ["home", "notes.txt"]


def test_archived_bodies_are_private(tmp_path: Path):
    storage = open_frame_storage(str(tmp_path / "archives"))
    assert storage is not None
    storage.write_body("shop/ab/abcd.zst", b"body")
    assert list_open_files(tmp_path / "archives") == []
