"""`commonplace backup` and `restore` as an operator runs them, beside a server and killed in the middle."""

import signal
import subprocess
from pathlib import Path

import pytest
from sync_client import random_lines

import product
from commonplace.backup.inspection import inspect_backup
from patience import PATIENCE_SECONDS, wait_until

TRANSCRIPT = random_lines(16_000_000)


def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        product.command(*arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        env=product.environment(**more),
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_backup_of_a_running_server_is_restored_after_it_stopped(data: Path, tmp_path: Path):
    backups = tmp_path / "backups"
    with product.running("--data", str(data)) as server:
        session = server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
        server.call("memory_lock_files", session_id=session, files=["a.py"])
        for _ in range(2):
            made = run("backup", "--to", str(backups), "--keep", "1", "--data", str(data))
            assert (made.returncode, "restored into a scratch store" in made.stdout) == (0, True), made.stderr
        [file] = backups.iterdir()
        assert file.stat().st_mode & 0o077 == 0
        refused = run("restore", str(file), "--data", str(data), "--yes")
        assert (refused.returncode, "Stop it" in refused.stderr) == (6, True)
        missing = run("restore", str(tmp_path / "missing.tar.zst"), "--data", str(data), "--yes")
        assert (missing.returncode, "There is no backup at" in missing.stderr) == (5, True)
    asked = run("restore", str(file), "--data", str(data))
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert f"replaces  {data / 'commonplace.db'}: 1 project (" in asked.stdout
    restored = run("restore", str(file), "--data", str(data), "--yes")
    assert restored.returncode == 0, restored.stderr
    with product.running("--data", str(data)) as server:
        assert server.call("memory_list_projects")["projects"][0]["project"] == "shop"


def test_killed_backup_leaves_no_file_under_its_name(data: Path, tmp_path: Path):
    file = tmp_path / "out" / "team.tar.zst"
    with product.running("--data", str(data)) as server:
        made = server.call("register_workspace", machine="laptop", tool="claude", project="shop")
        path = f"/archives/{made['workspace_id']}/big"
        for start in range(0, len(TRANSCRIPT), 8_000_000):
            part = TRANSCRIPT[start : start + 8_000_000]
            span = f"bytes {start}-{start + len(part) - 1}/*"
            headers = {"X-Write-Token": made["write_token"], "Content-Range": span}
            assert server.request("PUT", path, part, headers)[0] == 200
        backup = subprocess.Popen(
            product.command("backup", str(file), "--data", str(data)), env=product.environment()
        )
        partial = file.with_name(file.name + ".part")
        wait_until(lambda: partial.exists() and partial.stat().st_size > 1_000_000)
        backup.send_signal(signal.SIGKILL)
        backup.wait(PATIENCE_SECONDS)
        assert [path.name for path in file.parent.iterdir()] == [partial.name]
        assert run("backup", str(file), "--data", str(data)).returncode == 0
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert inspect_backup(file).manifest.tables["archive"].rows == 1
