"""`commonplace doctor` says what is wrong, what mends it, and tells monitoring by its exit code."""

import json
import os
import time
from pathlib import Path

import pytest

from commonplace.__main__ import main
from commonplace.backup.rotation import format_stamp
from commonplace.client.companion import program
from commonplace.client.doctor import program_checks
from commonplace.config import Settings
from commonplace.store.last_backup import LastBackup, write_last_backup
from team import Team

pytestmark = pytest.mark.processes  # the doctor asks git about the current repository


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without agents, repositories and settings."""
    for name in [name for name in os.environ if name.startswith("COMMONPLACE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path


def examine(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, dict[str, dict[str, str]]]:
    capsys.readouterr()
    code = main(["doctor", "--json", *flags])
    findings = json.loads(capsys.readouterr().out)["findings"]
    return code, {finding["check"]: finding for finding in findings}


def test_missing_server_is_a_warning_with_the_command_that_starts_it(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    code, findings = examine(capsys, "--data", str(home / "data"))
    assert (code, findings["server"]["command"]) == (1, "commonplace serve")


@pytest.mark.usefixtures("home")
def test_unreachable_server_is_a_problem(capsys: pytest.CaptureFixture[str]):
    code, findings = examine(capsys, "--url", "http://127.0.0.1:9")
    assert (code, findings["server"]["health"]) == (2, "problem")
    assert findings["server"]["command"] == "commonplace serve --port 9"
    _, findings = examine(capsys, "--url", "https://memory.invalid")
    assert "memory.invalid" in findings["server"]["command"]


def test_files_that_others_can_read_are_made_private(home: Path, capsys: pytest.CaptureFixture[str]):
    settings = home / "home" / "config.toml"
    settings.write_text("")
    settings.chmod(0o644)
    code, findings = examine(capsys, "--data", str(home / "data"))
    assert (code, findings["files"]["health"]) == (2, "problem")
    code, findings = examine(capsys, "--data", str(home / "data"), "--fix")
    assert (code, findings["files"]["health"], settings.stat().st_mode & 0o777) == (1, "ok", 0o600)


def test_hooks_that_never_ran_are_told_from_those_that_did(home: Path, capsys: pytest.CaptureFixture[str]):
    (home / ".claude").mkdir()
    _, findings = examine(capsys, "--data", str(home / "data"))
    assert "not connected" in findings["Claude Code"]["message"]
    assert main(["install", "--agent", "claude", "--yes", "--force", "--url", "http://127.0.0.1:9"]) == 0
    _, findings = examine(capsys, "--data", str(home / "data"))
    assert "not run yet" in findings["Claude Code"]["message"]
    settings = home / ".claude" / "settings.json"
    written = settings.read_text()
    settings.write_text("{}")
    code, findings = examine(capsys, "--data", str(home / "data"))
    assert (code, findings["Claude Code"]["health"]) == (2, "problem")
    assert (str(settings) in findings["Claude Code"]["message"], findings["Claude Code"]["command"]) == (
        True,
        "commonplace install --agent claude",
    )
    settings.write_text(written)
    program.run("claude", b'{"hook_event_name": "Stop", "session_id": "s1", "cwd": "/"}')
    _, findings = examine(capsys, "--data", str(home / "data"))
    assert findings["Claude Code"]["health"] == "ok"
    long_ago = time.time() - 30 * 86_400
    os.utime(home / "home" / "heard" / "claude", (long_ago, long_ago))
    _, findings = examine(capsys, "--data", str(home / "data"))
    assert (findings["Claude Code"]["health"], "30 days" in findings["Claude Code"]["message"]) == (
        "warning",
        True,
    )


def test_another_program_of_the_same_name_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own").mkdir()
    for folder, text in (
        ("own", "import commonplace.__main__"),
        ("other", "something else"),
        ("pipx", "commonplace.__main__"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "commonplace").write_text(text)
        (tmp_path / folder / "commonplace").chmod(0o755)
    for folder, health in (("other", "warning"), ("pipx", "ok")):
        monkeypatch.setenv("PATH", str(tmp_path / folder))
        assert {each.check: each.health for each in program_checks.check_program()}["PATH"] == health


def test_damaged_database_is_found_by_a_deep_look(home: Path, capsys: pytest.CaptureFixture[str]):
    data = home / "data"
    assert main(["call", "memory_list_projects", "--data", str(data)]) == 0
    _, findings = examine(capsys, "--data", str(data), "--deep")
    assert findings["integrity"]["health"] == "ok"
    database = data / "commonplace.db"
    content = bytearray(database.read_bytes())
    content[8192:200_000] = os.urandom(200_000 - 8192)
    database.write_bytes(content)
    code, findings = examine(capsys, "--data", str(data), "--deep")
    assert (code, "commonplace restore" in findings["integrity"]["command"]) == (2, True)


async def inspect(team: Team) -> dict[str, dict[str, str]]:
    reply = await team.anyone().call("memory_inspect_server")
    return {finding["check"]: finding for finding in reply["findings"]}


async def test_server_names_the_age_of_its_backups(team: Team, address: Path | str, tmp_path: Path):
    folder = address if isinstance(address, Path) else tmp_path
    settings = Settings(data=folder, store="sqlite" if isinstance(address, Path) else address)
    team.calls.settings = settings
    assert "there is no backup" in (await inspect(team))["backup"]["message"]
    for at, health in (("2026-01-01T00:00:00+00:00", "warning"), ("2999-01-01T00:00:00+00:00", "ok")):
        last = LastBackup(f"/backups/{format_stamp()}", 1, verified=True, at=at)
        await write_last_backup(settings.store, settings.data, last)
        assert (await inspect(team))["backup"]["health"] == health
    assert (await inspect(team))["disk"]["message"]
    assert (await inspect(team))["store"]["message"].startswith(team.database.kind)
