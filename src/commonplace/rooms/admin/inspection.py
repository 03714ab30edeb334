"""What the server knows about its own health, in words, for `commonplace doctor` and the web page.

Whether it answers at all, and what is wrong on the machines of agents, is looked at in `client/doctor/`.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from commonplace import __version__
from commonplace.call import Call
from commonplace.clock import DAY, iso
from commonplace.config import Settings
from commonplace.data_folder import DATABASE
from commonplace.operation import Reply, operation
from commonplace.rooms.admin import store
from commonplace.store.last_backup import LastBackup, read_last_backup

_MEGABYTE = 1_000_000
_LOW_DISK_BYTES = 1000 * _MEGABYTE
_FULL_DISK_BYTES = 200 * _MEGABYTE
_LARGE_LOG_BYTES = 256 * _MEGABYTE
_LONG_QUEUE = 5000
_OLD_BACKUP_DAYS = 2
_EXPIRY_WARNING = 14 * DAY


class ServerFinding(Reply):
    check: str
    health: Literal["ok", "warning", "problem"]
    message: str
    command: str = ""
    """What fixes it."""


class ServerInspection(Reply):
    version: str
    at: str
    findings: list[ServerFinding]


@operation("memory_inspect_server", role="admin", session=False, example={})
async def inspect_server(call: Call) -> ServerInspection:
    """What is wrong with the server, in words, with the command that fixes it."""
    findings = [
        await _check_store(call),
        *_check_disk(call.settings, call.tx.kind),
        await _check_search(call),
        _check_backup(await read_last_backup(call.tx, call.settings.data), call.settings),
        *await _check_keys(call),
        _check_retention(call.settings),
    ]
    return ServerInspection(version=__version__, at=iso(call.now), findings=findings)


async def _check_store(call: Call) -> ServerFinding:
    row = await call.tx.one("select max(n) as schema from schema_version")
    schema = row["schema"] if row else 0
    size = ""
    if call.tx.kind == "postgresql":
        sized = await call.tx.one("select pg_database_size(current_database()) as bytes")
        size = f", {_format_megabytes(sized['bytes'])}" if sized else ""
    return ServerFinding(check="store", health="ok", message=f"{call.tx.kind}, schema {schema}{size}")


def _check_disk(settings: Settings, kind: str) -> Iterator[ServerFinding]:
    if not settings.data.is_dir():
        return
    free = shutil.disk_usage(settings.data).free
    message = f"{_format_megabytes(free)} free for {settings.data}"
    if free < _LOW_DISK_BYTES:
        yield ServerFinding(
            check="disk",
            health="problem" if free < _FULL_DISK_BYTES else "warning",
            message=message,
            command="Free disk space, or move the data folder: commonplace backup FILE, then restore it with --data DIR",
        )
    else:
        yield ServerFinding(check="disk", health="ok", message=message)
    if kind == "sqlite":
        yield from _check_files(settings.data)


def _check_files(folder: Path) -> Iterator[ServerFinding]:
    if not (folder / DATABASE).exists():
        return
    database, log = folder / DATABASE, folder / f"{DATABASE}-wal"
    log_bytes = log.stat().st_size if log.exists() else 0
    sizes = f"database {_format_megabytes(database.stat().st_size)}, log {_format_megabytes(log_bytes)}"
    if log_bytes > _LARGE_LOG_BYTES:
        yield ServerFinding(
            check="log",
            health="warning",
            message=f"{sizes}: something reads the database for long, so that the log cannot be reset",
            command="End long backups or other programs that have the database open; else restart the server",
        )
    else:
        yield ServerFinding(check="log", health="ok", message=sizes)
    if os.name == "posix" and stat.S_IMODE(database.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
        yield ServerFinding(
            check="modes",
            health="problem",
            message=f"others can read {database}",
            command=f"chmod go= {database}*",
        )


async def _check_search(call: Call) -> ServerFinding:
    pending = await call.search.count_queued_entries(call.tx)
    if problem := call.search.last_error:
        return ServerFinding(
            check="search",
            health="problem",
            message=f"no vectors are made: {problem}; {pending} texts wait. Search by words works",
            command="Check --embeddings, then restart the server",
        )
    waiting = f"{pending} texts wait for their vectors"
    if foreign := call.search.foreign_questions:
        return ServerFinding(
            check="search",
            health="warning",
            message=f"{foreign} questions in other languages were searched with an English model; {waiting}",
            command="Install commonplace-mcp[languages] (in a clone: make setup EXTRAS=languages),"
            " then start the server with --embeddings multilingual",
        )
    health: Literal["ok", "warning"] = "warning" if pending > _LONG_QUEUE else "ok"
    return ServerFinding(check="search", health=health, message=waiting)


def _check_backup(last: LastBackup | None, settings: Settings) -> ServerFinding:
    where = "" if settings.store == "sqlite" else " --store ..."
    command = f"commonplace backup --to DIR --keep 14{where}, every day (docs/guides/backup.md)"
    if last is None:
        return ServerFinding(
            check="backup", health="warning", message="there is no backup of this store", command=command
        )
    age = datetime.now(UTC) - last.finished_at
    how = "verified" if last.verified else "not verified"
    message = f"the last backup is {age.days} days and {age.seconds // 3600} hours old, {how}: {last.file}"
    if age.days >= _OLD_BACKUP_DAYS:
        return ServerFinding(check="backup", health="warning", message=message, command=command)
    return ServerFinding(check="backup", health="ok", message=message)


async def _check_keys(call: Call) -> list[ServerFinding]:
    if not call.settings.auth_on:
        return [ServerFinding(check="keys", health="ok", message=f"keys are {call.settings.auth}")]
    rows = await store.list_expiring_keys(call.tx, call.now, call.now + _EXPIRY_WARNING)
    findings = [
        ServerFinding(
            check="keys",
            health="warning",
            message=f"the key '{row['name']}' expires {iso(row['expires_at'])}",
            command=f"commonplace key create --name {row['name']}-2 --role {row['role']}",
        )
        for row in rows
    ]
    if not await store.has_other_owner_key(call.tx, "", call.now):
        findings.append(
            ServerFinding(
                check="keys",
                health="problem",
                message="no owner's key exists, so nobody can administer this server from another machine",
                command="commonplace key create --name NAME --role owner",
            )
        )
    return findings or [ServerFinding(check="keys", health="ok", message="keys are on; none expires soon")]


def _check_retention(settings: Settings) -> ServerFinding:
    message = f"audit rows are kept for {settings.audit_days} days, events for {settings.event_days}"
    return ServerFinding(check="retention", health="ok", message=message)


def _format_megabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size / _MEGABYTE:.0f} MB"
