"""A disk that is really full: writes are refused in words, /ready is red, reads go on, and all is well when there is room."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import product
from patience import wait_until

DISK_MEGABYTES = 48  # /ready wants 32 free
_MOUNT = 'mount -t tmpfs -o size="$0"m tmpfs "$1" && shift && exec "$@"'


def _mount_command(folder: Path) -> list[str]:
    """Runs what follows with a small disk of its own at this folder, which only its own processes see."""
    return [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        _MOUNT,
        str(DISK_MEGABYTES),
        str(folder),
    ]


def _can_mount(folder: Path) -> bool:
    if sys.platform != "linux" or not shutil.which("unshare"):
        return False
    return subprocess.run([*_mount_command(folder), "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[product.Product, Path]]:
    """A server whose data folder is a small disk, and that folder as seen from outside."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not _can_mount(disk):
        pytest.skip("this system lets nobody mount a disk for a process")
    with product.running("--data", str(disk / "data"), within=_mount_command(disk)) as server:
        yield server, Path(f"/proc/{server.process.pid}/root{disk}")


def fill_disk(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65_536)
        except OSError:
            os.fsync(file.fileno())
    return filler


def record(server: product.Product, session: str, n: int) -> dict[str, object]:
    # Long enough that no free space inside of the database file takes it.
    return server.call(
        "memory_record_learning", session_id=session, topic=f"Fact {n}", content=f"{n} word " * 4000
    )


def test_a_full_disk_is_refused_in_words_and_the_server_recovers(small_disk: tuple[product.Product, Path]):
    server, disk = small_disk
    session = server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
    kept = record(server, session, 1)["id"]
    filler = fill_disk(disk)

    with pytest.raises(product.Refused) as refused:
        [record(server, session, n) for n in range(2, 50)]
    assert (refused.value.status, refused.value.body["error"]) == (503, "unavailable")
    assert "full" in refused.value.body["message"]
    assert "free disk space" in refused.value.body["hint"]
    wait_until(lambda: server.request("GET", "/ready")[0] == 503)
    assert b"disk is full" in server.request("GET", "/ready")[1]
    assert json.loads(server.request("GET", "/health")[1])["status"] == "degraded"
    assert server.call("memory_get_by_id", session_id=session, doc_id=kept)["id"] == kept

    filler.unlink()
    wait_until(lambda: server.request("GET", "/ready")[0] == 200)
    later = record(server, session, 99)["id"]
    assert server.call("memory_get_by_id", session_id=session, doc_id=later)["id"] == later
    assert server.call("memory_get_by_id", session_id=session, doc_id=kept)["id"] == kept
