"""The server as a program of this user's login: a systemd user unit, a launchd agent, or a Windows task.

A server of the whole machine is `deploy/systemd/commonplace.service`. The schedule of uploads is `schedule.py`.
"""

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from commonplace import errors
from commonplace.client.install.machine import Machine

UNIT_NAME = "commonplace"
LAUNCHD_LABEL = "dev.commonplace.server"
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class ServerUnit:
    """What the service manager of this machine needs: a file of ours, if any, and its commands."""

    manager: str
    path: Path | None
    text: str
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]
    status: tuple[str, ...]


def build_unit(machine: Machine, flags: tuple[str, ...]) -> ServerUnit:
    """The unit for this machine; refuses where there is no service manager that we know."""
    command = (*machine.program, "serve", *flags)
    if machine.is_windows:
        return _build_windows_task(machine, command)
    if machine.platform == "darwin":
        return _build_launchd_agent(machine, command)
    if machine.has_program("systemctl"):
        return _build_systemd_unit(machine, command)
    raise errors.NotFound(
        "This machine has no systemd, launchd or Windows Task Scheduler.",
        hint=f"Start it at login with: {shlex.join(command)}",
    )


def _build_systemd_unit(machine: Machine, command: tuple[str, ...]) -> ServerUnit:
    control = ("systemctl", "--user")
    return ServerUnit(
        "systemd",
        machine.config_folder / "systemd" / "user" / f"{UNIT_NAME}.service",
        render_systemd_unit(command),
        (
            (*control, "daemon-reload"),
            (*control, "enable", f"{UNIT_NAME}.service"),
            (*control, "restart", f"{UNIT_NAME}.service"),
        ),
        ((*control, "disable", "--now", f"{UNIT_NAME}.service"),),
        (*control, "status", "--no-pager", f"{UNIT_NAME}.service"),
    )


def render_systemd_unit(command: tuple[str, ...]) -> str:
    """A user's unit cannot use every protection of a system unit: those that need root are left out."""
    return f"""[Unit]
Description=Commonplace, shared memory and coordination for AI coding agents

[Service]
Type=exec
ExecStart={_quote_systemd(command)}
Restart=on-failure
RestartSec=2
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"""


def _quote_systemd(words: tuple[str, ...]) -> str:
    """systemd expands $ and %, and understands double quotes with backslashes."""
    escaped = (
        word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$") for word in words
    )
    return " ".join(f'"{word}"' if any(c in word for c in " \t'\"\\;") else word for word in escaped)


def _build_launchd_agent(machine: Machine, command: tuple[str, ...]) -> ServerUnit:
    path = machine.home / "Library" / "LaunchAgents" / f"{LAUNCHD_LABEL}.plist"
    domain = f"gui/{os.getuid() if hasattr(os, 'getuid') else 0}"
    return ServerUnit(
        "launchd",
        path,
        render_launchd_agent(command, machine.home / "Library" / "Logs" / "commonplace.log"),
        (("launchctl", "bootstrap", domain, str(path)),),
        (("launchctl", "bootout", f"{domain}/{LAUNCHD_LABEL}"),),
        ("launchctl", "print", f"{domain}/{LAUNCHD_LABEL}"),
    )


def render_launchd_agent(command: tuple[str, ...], log: Path) -> str:
    words = "\n".join(f"    <string>{escape(word)}</string>" for word in command)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>{LAUNCHD_LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{words}
  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>StandardErrorPath</key><string>{escape(str(log))}</string>
</dict>
</plist>
"""


def _build_windows_task(machine: Machine, command: tuple[str, ...]) -> ServerUnit:
    task = ("/TN", UNIT_NAME)
    line = subprocess.list2cmdline(command)
    return ServerUnit(
        "Task Scheduler",
        None,
        machine.shell_command(command),
        (
            ("schtasks", "/Create", *task, "/TR", line, "/SC", "ONLOGON", "/F"),
            ("schtasks", "/Run", *task),
        ),
        (("schtasks", "/End", *task), ("schtasks", "/Delete", *task, "/F")),
        ("schtasks", "/Query", *task, "/V", "/FO", "LIST"),
    )


def install_unit(unit: ServerUnit) -> None:
    if unit.path:
        unit.path.parent.mkdir(parents=True, exist_ok=True)
        unit.path.write_text(unit.text, encoding="utf-8")
    for command in unit.start:
        _run_command(command)


def remove_unit(unit: ServerUnit) -> bool:
    """Stop the server and delete its unit; whether there was one."""
    if unit.path and not unit.path.exists():
        return False
    for command in unit.stop:
        _run_command(command)
    if unit.path:
        unit.path.unlink(missing_ok=True)
    return True


def read_status(unit: ServerUnit) -> str:
    """What the service manager says about the server, whatever it is."""
    return subprocess.run(
        unit.status, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
    ).stdout


def _run_command(command: tuple[str, ...]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise errors.Unavailable(f"`{shlex.join(command)}` failed: {error}") from None
    if done.returncode:
        raise errors.Unavailable(
            f"`{shlex.join(command)}` failed: {(done.stderr or done.stdout).strip()[:400]}",
            hint="Solve it, then run the command again.",
        )
