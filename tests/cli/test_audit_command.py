"""`commonplace audit`: verify the audit log from a terminal, and keep its heads elsewhere."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest

from commonplace.__main__ import main
from commonplace.access import LOCAL
from commonplace.config import Settings
from commonplace.rooms.admin.audit_sealing import AuditSealer
from commonplace.server import open_calls


async def write_and_seal(folder: Path) -> None:
    async with open_calls(Settings(data=folder, embeddings="off")) as calls:
        await calls.run("memory_start_session", {"project": "shop", "claude_instance": "ann"}, LOCAL)
        await AuditSealer(calls).seal_new_rows()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    asyncio.run(write_and_seal(tmp_path / "data"))
    return tmp_path / "data"


def run_audit(capsys: pytest.CaptureFixture[str], data: Path, *words: str) -> tuple[int, str]:
    code = main(["audit", *words, "--data", str(data)])
    return code, capsys.readouterr().out


def change_store(data: Path, sql: str) -> None:
    connection = apsw.Connection(str(data / "commonplace.db"))
    connection.execute(sql)
    connection.close()


def test_verify_says_that_the_log_is_complete(data: Path, capsys: Any):
    assert run_audit(capsys, data, "verify") == (0, "shop: ok, 1 rows sealed, 0 not sealed yet\n")


def test_verify_names_a_changed_row_and_fails(data: Path, capsys: Any):
    change_store(data, "update audit set agent = 'mallory'")
    code, printed = run_audit(capsys, data, "verify", "--project", "shop")
    assert (code, "DAMAGED" in printed, "of seal 1 was changed." in printed) == (1, True, True)


def test_heads_that_were_kept_find_a_log_that_was_cut_off(data: Path, capsys: Any, tmp_path: Path):
    code, heads = run_audit(capsys, data, "heads")
    assert (code, heads.split()[0], heads.split()[2]) == (0, "1", "shop")
    (tmp_path / "heads.txt").write_text(heads)
    assert run_audit(capsys, data, "verify", "--heads", "heads.txt")[0] == 0
    change_store(data, "delete from audit_seal")
    change_store(data, "delete from audit")
    assert run_audit(capsys, data, "verify")[0] == 0
    code, printed = run_audit(capsys, data, "verify", "--heads", "heads.txt")
    assert (code, "the end of the log was removed" in printed) == (1, True)


def test_file_that_holds_no_heads_is_refused(data: Path, capsys: Any, tmp_path: Path):
    (tmp_path / "heads.txt").write_text("what is this")
    assert run_audit(capsys, data, "verify", "--heads", "heads.txt")[0] == 2
