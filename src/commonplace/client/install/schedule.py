"""Schedules `commonplace sync run` every 15 minutes with systemd, launchd, cron or the Windows Task Scheduler."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from xml.sax.saxutils import escape

from commonplace import errors
from commonplace.client.install.install_record import ScheduleRecord
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import SettingEdit, WriteFile

_INTERVAL_MINUTES = 15
_UNIT_NAME = "commonplace-sync"
_LAUNCHD_LABEL = "dev.commonplace.sync"
_TIMEOUT_SECONDS = 20
_PATH_VARIABLES = ("COMMONPLACE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_DATA_HOME")
"""Variables that move our state, transcripts or the server's data; schedulers do not inherit them."""


def find_scheduler(machine: Machine) -> str:
    """Which scheduler this machine has; empty if none."""
    if machine.is_windows:
        return "schtasks"
    if machine.platform == "darwin":
        return "launchd"
    if (
        machine.has_program("systemctl")
        and _run_command(("systemctl", "--user", "show-environment")).returncode == 0
    ):
        return "systemd"
    return "cron" if machine.has_program("crontab") else ""


def schedule_edits(machine: Machine, by: str) -> list[SettingEdit]:
    """The files that the scheduler reads."""
    if by == "systemd":
        folder = machine.config_folder / "systemd" / "user"
        return [
            WriteFile(folder / f"{_UNIT_NAME}.service", _systemd_service(machine)),
            WriteFile(folder / f"{_UNIT_NAME}.timer", _systemd_timer()),
        ]
    if by == "launchd":
        folder = machine.home / "Library" / "LaunchAgents"
        return [WriteFile(folder / f"{_LAUNCHD_LABEL}.plist", _launchd_agent(machine))]
    return []


def start_schedule(machine: Machine, by: str) -> ScheduleRecord:
    """Enable the schedule; return what is needed to remove it."""
    if by == "cron":
        return _add_to_crontab(machine)
    for command in _start_commands(machine, by):
        _require_success(command)
    return ScheduleRecord(by, _schedule_line(machine, by))


def is_scheduled(machine: Machine, by: str, scheduled: ScheduleRecord | None) -> bool:
    """Whether this schedule is already enabled."""
    if scheduled is None or scheduled.kind != by:
        return False
    return scheduled.line.strip() == _schedule_line(machine, by)


def stop_schedule(scheduled: ScheduleRecord) -> None:
    """Disable the schedule, before its files are deleted."""
    if scheduled.kind == "cron":
        _remove_from_crontab(scheduled)
    for command in _stop_commands(scheduled.kind):
        _require_success(command)


def describe_schedule(machine: Machine, by: str) -> str:
    """The commands that enable the schedule, as text."""
    if by == "cron":
        return f"crontab: {_cron_line(machine)}"
    return "\n".join(shlex.join(command) for command in _start_commands(machine, by))


def _sync_command(machine: Machine) -> tuple[str, ...]:
    return (*machine.program, "sync", "run")


def _schedule_line(machine: Machine, by: str) -> str:
    """The schedule as text, for schedulers without a file of ours."""
    if by == "cron":
        return _cron_line(machine)
    return _windows_task(machine) if by == "schtasks" else ""


def _moved_variables(machine: Machine) -> dict[str, str]:
    return {name: value for name in _PATH_VARIABLES if (value := machine.environment.get(name))}


def _start_commands(machine: Machine, by: str) -> list[tuple[str, ...]]:
    if by == "systemd":
        control = ("systemctl", "--user")
        return [(*control, "daemon-reload"), (*control, "enable", "--now", f"{_UNIT_NAME}.timer")]
    if by == "launchd":
        plist = machine.home / "Library" / "LaunchAgents" / f"{_LAUNCHD_LABEL}.plist"
        return [("launchctl", "bootstrap", _launchd_domain(), str(plist))]
    if by == "schtasks":
        every = ("/SC", "MINUTE", "/MO", str(_INTERVAL_MINUTES), "/F")
        return [("schtasks", "/Create", "/TN", _UNIT_NAME, "/TR", _windows_task(machine), *every)]
    return []


def _stop_commands(by: str) -> list[tuple[str, ...]]:
    if by == "systemd":
        return [("systemctl", "--user", "disable", "--now", f"{_UNIT_NAME}.timer")]
    if by == "launchd":
        return [("launchctl", "bootout", f"{_launchd_domain()}/{_LAUNCHD_LABEL}")]
    return [("schtasks", "/Delete", "/TN", _UNIT_NAME, "/F")] if by == "schtasks" else []


def _launchd_domain() -> str:
    return f"gui/{os.getuid()}"


def _windows_task(machine: Machine) -> str:
    task = subprocess.list2cmdline(_sync_command(machine))
    moved = "".join(f'set "{name}={value}"&& ' for name, value in _moved_variables(machine).items())
    return f'cmd /c "{moved}{task}"' if moved else task


def _systemd_service(machine: Machine) -> str:
    moved = [f"{name}={value}" for name, value in _moved_variables(machine).items()]
    lines = [f"Environment={_quote_systemd(moved)}"] if moved else []
    lines += ["Type=oneshot", f"ExecStart={_quote_systemd(_sync_command(machine))}", "Nice=10", ""]
    return "\n".join(["[Unit]", "Description=Commonplace: upload transcripts", "", "[Service]", *lines])


def _quote_systemd(words: Sequence[str]) -> str:
    quoted = (word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") for word in words)
    return " ".join(f'"{word}"' for word in quoted)


def _systemd_timer() -> str:
    return f"""[Unit]
Description=Commonplace: upload transcripts every {_INTERVAL_MINUTES} minutes

[Timer]
OnBootSec=2min
OnUnitActiveSec={_INTERVAL_MINUTES}min
RandomizedDelaySec=1min

[Install]
WantedBy=timers.target
"""


def _launchd_agent(machine: Machine) -> str:
    words = "\n".join(f"    <string>{escape(word)}</string>" for word in _sync_command(machine))
    moved = "".join(
        f"<key>{name}</key><string>{escape(value)}</string>"
        for name, value in _moved_variables(machine).items()
    )
    environment = f"""
  <key>EnvironmentVariables</key>
  <dict>{moved}</dict>"""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{_LAUNCHD_LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{words}
  </array>{environment if moved else ""}
  <key>StartInterval</key>
  <integer>{_INTERVAL_MINUTES * 60}</integer>
</dict>
</plist>
"""


def _cron_line(machine: Machine) -> str:
    moved = [f"{name}={value}" for name, value in _moved_variables(machine).items()]
    words = (*(("env", *moved) if moved else ()), *_sync_command(machine))
    return f"*/{_INTERVAL_MINUTES} * * * * {shlex.join(words)} >/dev/null 2>&1 # commonplace".replace(
        "%", "\\%"
    )


def _add_to_crontab(machine: Machine) -> ScheduleRecord:
    table = _read_crontab()
    line = f"{_cron_line(machine)}\n"
    if table is not None and table and not table.endswith("\n"):
        line = f"\n{line}"
    _replace_crontab((table or "") + line)
    return ScheduleRecord("cron", line, created=table is None)


def _remove_from_crontab(scheduled: ScheduleRecord) -> None:
    table = _read_crontab() or ""
    rest = table.replace(scheduled.line, "", 1)
    if not rest and scheduled.created:
        _require_success(("crontab", "-r"))
    elif rest != table:
        _replace_crontab(rest)


def _read_crontab() -> str | None:
    listed = _run_command(("crontab", "-l"))
    return listed.stdout if listed.returncode == 0 else None


def _replace_crontab(table: str) -> None:
    _require_success(("crontab", "-"), table)


def _require_success(command: Sequence[str], stdin: str = "") -> None:
    completed = _run_command(command, stdin)
    if completed.returncode != 0:
        output = (completed.stderr or completed.stdout).strip().splitlines()
        raise errors.Unavailable(
            f"{shlex.join(command)} failed: {output[-1] if output else completed.returncode}"
        )


def _run_command(command: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            list(command), input=stdin, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        return subprocess.CompletedProcess(list(command), 1, "", str(fault))
