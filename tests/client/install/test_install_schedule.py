"""The schedule of `commonplace install`: what the machine's own scheduler is told, and untold."""

import plistlib
from pathlib import Path

import pytest
from user import User

from commonplace.client.agents import load_settings
from commonplace.client.install import schedule
from commonplace.client.install.install_record import ScheduleRecord
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import PutValue, WriteFile
from commonplace.client.link.remote import RemoteServer

pytestmark = pytest.mark.processes

INSTALL = ("install", "--agent", "cursor", "--yes", "--url", "http://127.0.0.1:9123", "--force")

# Programs of the system stand in for themselves: one keeps the table, the other writes down what it was told.
CRONTAB = """#!/bin/sh
case "$1" in
  -l) exec /bin/cat '{table}' ;;
  -r) exec /bin/rm '{table}' ;;
  *) exec /bin/cat >'{table}' ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
echo "$@" >>'{told}'
exit {code}
"""


def _program(user: User, name: str, text: str) -> None:
    (user.programs / name).write_text(text)
    (user.programs / name).chmod(0o755)


@pytest.fixture
def crontab(user: User) -> Path:
    table = user.home / "table"
    _program(user, "crontab", CRONTAB.format(table=table))
    return table


@pytest.fixture
def systemctl(user: User) -> Path:
    told = user.home / "told"
    _program(user, "systemctl", SYSTEMCTL.format(told=told, code=0))
    return told


def test_install_adds_a_line_to_the_crontab_once_and_uninstall_takes_it_away(user: User, crontab: Path):
    theirs = "# mine\nMAILTO=ann\n0 3 * * * backup\n"
    crontab.write_text(theirs)
    user.runs(*INSTALL)
    added = crontab.read_text()
    assert added.startswith(theirs)
    assert added.count("\n") == theirs.count("\n") + 1
    assert " sync run " in added
    assert user.runs(*INSTALL) == "Nothing to change.\n"
    assert crontab.read_text() == added
    user.runs("uninstall", "--yes")
    assert crontab.read_text() == theirs


def test_uninstall_leaves_no_crontab_where_there_was_none(user: User, crontab: Path):
    user.runs(*INSTALL)
    assert crontab.read_text().startswith("*/15 * * * * ")
    user.runs("uninstall", "--yes")
    assert not crontab.exists()


def test_uninstall_keeps_lines_that_came_since(user: User, crontab: Path):
    user.runs(*INSTALL)
    crontab.write_text(crontab.read_text() + "@daily mine\n")
    user.runs("uninstall", "--yes")
    assert crontab.read_text() == "@daily mine\n"


def test_install_keeps_the_schedule_until_the_last_agent_leaves(user: User, crontab: Path):
    user.runs("install", "--force", "--agent", "cursor", "gemini", "--yes")
    user.runs("uninstall", "--agent", "cursor", "--yes")
    assert "sync run" in crontab.read_text()
    user.runs("uninstall", "--agent", "gemini", "--yes")
    assert not crontab.exists()


def test_install_without_schedule_tells_nobody(user: User, crontab: Path):
    user.runs(*INSTALL, "--no-schedule")
    assert not crontab.exists()


def test_install_dry_run_shows_the_schedule_and_sets_none(user: User, crontab: Path):
    assert "*/15 * * * * " in user.runs("install", "--force", "--agent", "cursor", "--dry-run")
    assert not crontab.exists()


def test_install_writes_a_timer_where_systemd_runs(user: User, systemctl: Path, crontab: Path):
    before = user.snapshot()
    user.runs(*INSTALL)
    units = user.home / ".config/systemd/user"
    assert "sync" in (units / "commonplace-sync.service").read_text()
    assert "OnUnitActiveSec=15min" in (units / "commonplace-sync.timer").read_text()
    assert "--user enable --now commonplace-sync.timer" in systemctl.read_text()
    assert not crontab.exists()
    assert user.runs(*INSTALL) == "Nothing to change.\n"
    user.runs("uninstall", "--yes")
    assert "--user disable --now commonplace-sync.timer" in systemctl.read_text()
    systemctl.unlink()
    assert user.snapshot() == before


def test_install_takes_cron_where_systemd_does_not_answer(user: User, crontab: Path):
    _program(user, "systemctl", SYSTEMCTL.format(told=user.home / "told", code=1))
    user.runs(*INSTALL)
    assert "sync run" in crontab.read_text()


def test_install_goes_on_when_the_scheduler_refuses(user: User):
    _program(user, "crontab", "#!/bin/sh\necho not allowed >&2\nexit 1\n")
    code, _, error = user.tries(*INSTALL)
    assert code == 0
    assert "not allowed" in error
    assert user.reads(".cursor/mcp.json")["mcpServers"]


def test_install_says_when_there_is_no_scheduler(user: User):
    assert "commonplace sync run" in user.runs(*INSTALL)


def test_install_again_tells_a_timer_whose_service_changed(user: User, systemctl: Path):
    user.runs(*INSTALL)
    systemctl.unlink()
    user.set("CODEX_HOME", str(user.home / "moved"))
    user.runs(*INSTALL)
    assert "--user daemon-reload" in systemctl.read_text()
    assert user.runs(*INSTALL) == "Nothing to change.\n"


MOVED = {"CLAUDE_CONFIG_DIR": '/srv/100% "mine"', "CODEX_HOME": "/srv/my codex"}


def test_schedule_keeps_the_folders_that_the_environment_names():
    cron = schedule.describe_schedule(_machine("linux", **MOVED), "cron")
    assert """env 'CLAUDE_CONFIG_DIR=/srv/100\\% "mine"' 'CODEX_HOME=/srv/my codex' '/opt/my tools""" in cron
    (service, _) = schedule.schedule_edits(_machine("linux", **MOVED), "systemd")
    assert isinstance(service, WriteFile)
    line = r'''Environment="CLAUDE_CONFIG_DIR=/srv/100%% \"mine\"" "CODEX_HOME=/srv/my codex"'''
    assert line in service.text.splitlines()
    (agent,) = schedule.schedule_edits(_machine("darwin", **MOVED), "launchd")
    assert isinstance(agent, WriteFile)
    assert plistlib.loads(agent.text.encode())["EnvironmentVariables"] == MOVED
    task = 'cmd /c "set "CODEX_HOME=D:/codex"&& "/opt/my tools/commonplace" sync run"'
    windows = _machine("win32", CODEX_HOME="D:/codex")
    assert task in schedule.describe_schedule(windows, "schtasks")
    assert schedule.is_scheduled(windows, "schtasks", ScheduleRecord("schtasks", task))
    assert not schedule.is_scheduled(_machine("win32"), "schtasks", ScheduleRecord("schtasks", task))


def _machine(platform: str, **environment: str) -> Machine:
    return Machine(
        Path("/home/ann"), Path("/home/ann/shop"), ("/opt/my tools/commonplace",), platform, environment
    )


def test_launchd_is_given_a_property_list():
    machine = _machine("darwin", COMMONPLACE_HOME="/srv/state")
    assert schedule.find_scheduler(machine) == "launchd"
    (wish,) = schedule.schedule_edits(machine, "launchd")
    assert isinstance(wish, WriteFile)
    assert wish.path == Path("/home/ann/Library/LaunchAgents/dev.commonplace.sync.plist")
    assert plistlib.loads(wish.text.encode()) == {
        "Label": "dev.commonplace.sync",
        "ProgramArguments": ["/opt/my tools/commonplace", "sync", "run"],
        "EnvironmentVariables": {"COMMONPLACE_HOME": "/srv/state"},
        "StartInterval": 900,
    }


def test_windows_is_told_by_schtasks():
    machine = _machine("win32")
    assert schedule.find_scheduler(machine) == "schtasks"
    assert "/TN commonplace-sync /TR '\"/opt/my tools/commonplace\" sync run' /SC MINUTE /MO 15" in (
        schedule.describe_schedule(machine, "schtasks")
    )


def test_windows_has_its_own_places_and_quotes():
    machine = Machine(
        Path("C:/Users/ann"),
        Path("C:/shop"),
        ("C:\\Program Files\\commonplace.exe",),
        "win32",
        {"APPDATA": "C:/Users/ann/AppData/Roaming"},
    )
    (entry,) = load_settings("vscode").connection_edits(
        machine, RemoteServer("http://127.0.0.1:8080"), "user"
    )
    assert isinstance(entry, PutValue)
    assert entry.path == Path("C:/Users/ann/AppData/Roaming/Code/User/mcp.json")
    assert machine.hook_command("claude") == '"C:/Program Files/commonplace.exe" hook claude'
    hooks = load_settings("windsurf").hook_edits(machine, False)
    assert [wish.value["powershell"] for wish in hooks] == [
        '& "C:/Program Files/commonplace.exe" hook windsurf'
    ] * 4


def test_a_mac_keeps_settings_of_vscode_in_its_library():
    (entry,) = load_settings("vscode").connection_edits(
        _machine("darwin"), RemoteServer("http://127.0.0.1:8080"), "user"
    )
    assert entry.path == Path("/home/ann/Library/Application Support/Code/User/mcp.json")
