"""Hooks, guard, uploads and files of this machine."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from commonplace import errors
from commonplace.client.agents import AGENTS, AgentProgram, load_settings
from commonplace.client.commands.guard import find_unguarded_folder
from commonplace.client.companion.fault_log import read_last_event
from commonplace.client.doctor.finding import Finding, format_duration
from commonplace.client.install.install_record import FileRecord, InstallRecord, load_record
from commonplace.client.install.machine import this_machine
from commonplace.client.link import remote, spool

_PROGRAM = "commonplace"
_QUIET_DAYS = 7
_OLD_JOB_SECONDS = 86_400
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SECRET_FILES = ("config.toml", "state.db", "installed.json", "hooks.log")


def check_agents() -> Iterator[Finding]:
    """Each agent on this machine: is it connected, and do its hooks really run?"""
    machine = this_machine()
    try:
        record = load_record()
    except errors.Refusal as unreadable:
        yield Finding("agents", "problem", unreadable.message, "commonplace install")
        return
    installed = [program for name, program in AGENTS.items() if load_settings(name).is_installed(machine)]
    if not installed:
        yield Finding("agents", "ok", "no agent program was found for this user")
    for program in installed:
        yield _check_agent(program, record)


def _check_agent(program: AgentProgram, record: InstallRecord) -> Finding:
    install = f"commonplace install --agent {program.name}"
    if program.name not in record.list_agents():
        return Finding(program.title, "warning", "found on this machine, but not connected", install)
    files = [Path(file.path) for file in record.files if _has_hooks_of(file, program.name)]
    if not files:
        return Finding(program.title, "warning", "connected, without hooks", install)
    if missing := [str(path) for path in files if not _names_hook(path, program.name)]:
        message = f"its hooks are no longer in {', '.join(missing)}"
        return Finding(program.title, "problem", message, install)
    heard = read_last_event(program.name)
    if heard is None:
        note = load_settings(program.name).note or f"Hooks run when {program.title} starts a session."
        message = f"connected, but its hooks have not run yet. {note}"
        return Finding(program.title, "warning", message, f"Start {program.title}, then: commonplace doctor")
    quiet = time.time() - heard
    message = f"hooks last ran {format_duration(quiet)} ago"
    if quiet > _QUIET_DAYS * 86_400:
        return Finding(program.title, "warning", f"{message}; check that they are still trusted", install)
    return Finding(program.title, "ok", message)


def _has_hooks_of(file: FileRecord, agent: str) -> bool:
    return any(edit.agent == agent and edit.part == "hooks" for edit in file.edits)


def _names_hook(path: Path, agent: str) -> bool:
    """Whether the file still runs our hook; every agent's settings name the command or its agent."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return _PROGRAM in text and agent in text


def check_guard() -> Iterator[Finding]:
    """The git guard of the repository that the command runs in."""
    if (folder := find_unguarded_folder()) is not None:
        yield Finding(
            "guard",
            "warning",
            f"commits here are not checked against locks ({folder})",
            "commonplace guard install",
        )


def check_uploads() -> Iterator[Finding]:
    """What waits to be sent."""
    jobs = spool.list_jobs()
    if not jobs:
        yield Finding("uploads", "ok", "nothing waits to be sent")
        return
    oldest = time.time() - min(_modified_at(path) for job in jobs for path in job.files)
    message = f"{len(jobs)} uploads wait, the oldest for {format_duration(oldest)}"
    if oldest > _OLD_JOB_SECONDS:
        yield Finding("uploads", "warning", message, "commonplace sync test && commonplace sync run")
    else:
        yield Finding("uploads", "ok", message)


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def check_files() -> Iterator[Finding]:
    """Files with keys, or with what agents did, are for their owner."""
    if os.name != "posix":
        return
    home = remote.client_home()
    readable = [path for name in _SECRET_FILES if _is_open(path := home / name)]
    if not readable:
        yield Finding("files", "ok", f"the files in {home} are private")
        return

    def make_private() -> None:
        for path in readable:
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OF_OTHERS)

    names = " ".join(str(path) for path in readable)
    yield Finding("files", "problem", f"others can read {names}", f"chmod go= {names}", make_private)


def _is_open(path: Path) -> bool:
    return path.is_file() and bool(stat.S_IMODE(path.stat().st_mode) & _OF_OTHERS)
