"""Operations for whoever runs the server: what it holds, whether its rows are whole, and what retention would delete."""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal

from pydantic import Field

from commonplace import __version__, retention, row_checks
from commonplace.access import Caller
from commonplace.call import Call, Calls
from commonplace.clock import DAY, iso
from commonplace.config import Settings
from commonplace.data_folder import DATABASE
from commonplace.operation import Reply, operation
from commonplace.retention import RetentionRule, RetentionRun
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


_MAX_RUN_SECONDS = 30.0
"""A call is answered within this time; the caller calls again until nothing is left."""


class SweptKind(Reply):
    kind: str
    rows: int
    """How many went, or would go."""
    days: float
    """How old a row gets; 0 for what has its own end."""
    setting: str = ""


class RetentionReport(Reply):
    kinds: list[SweptKind]
    finished: bool


async def _sweep_or_count(calls: Calls, arguments: Mapping[str, Any], _caller: Caller) -> RetentionReport:
    if arguments["dry_run"]:
        rows, is_finished = await retention.count_due_rows(calls), True
    else:
        run = RetentionRun(calls, _MAX_RUN_SECONDS)
        await run.sweep_all()
        rows, is_finished = run.swept, run.is_finished
    return RetentionReport(
        kinds=[_describe_kind(calls, rule, rows.get(rule.kind, 0)) for rule in calls.catalogue.retention],
        finished=is_finished,
    )


def _describe_kind(calls: Calls, rule: RetentionRule, rows: int) -> SweptKind:
    now = calls.clock()
    age = now - rule.find_time(now, calls.settings)
    return SweptKind(
        kind=rule.kind,
        rows=rows,
        days=round(age / DAY, 1),
        setting=f"COMMONPLACE_{rule.setting.upper()}" if rule.setting else "",
    )


@operation(
    "memory_run_retention",
    role="owner",
    writes=True,
    session=False,
    destroys=True,
    idempotent=True,
    prepare=_sweep_or_count,
    example={"dry_run": True},
)
async def run_retention(
    call: Call, dry_run: Annotated[bool, Field(description="True only counts what would go.")] = False
) -> RetentionReport:
    """Delete what is older than the settings allow; with dry_run, only count it."""
    report: RetentionReport = call.prepared
    call.subject = "dry run" if dry_run else f"{sum(kind.rows for kind in report.kinds)} rows"
    return report


_MAX_CHECK_SECONDS = 2.0
"""A call is answered within this time; the caller goes on with `next`."""


class CheckedRows(Reply):
    checked: int
    damaged: list[str]
    """Rows that are not those that were written."""
    unhashed: int = 0
    """Rows that have no hash yet; background batches hash them."""
    next: str = ""
    """Pass it as `after` to go on; empty after the last row."""


async def _check_pages(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> CheckedRows:
    """Each page in a read of its own, so that the log of SQLite can be reset between them."""
    started, total = monotonic(), CheckedRows(checked=0, damaged=[], next=arguments["after"])
    while True:
        page = await calls.database.read(
            lambda tx: row_checks.check_rows(tx, caller, calls.catalogue.hashed_tables, total.next)
        )
        total.checked += page.checked
        total.unhashed += page.unhashed
        total.damaged = [*total.damaged, *page.damaged]
        total.next = page.next
        if not page.next or monotonic() - started > _MAX_CHECK_SECONDS:
            return total


@operation("memory_check_rows", role="admin", session=False, prepare=_check_pages, example={})
async def check_rows(
    call: Call,
    after: Annotated[
        str, Field(max_length=2000, description="The cursor of the last reply; empty to begin.")
    ] = "",
) -> CheckedRows:
    """Compare documents and archives with the hashes that were written with them, for some seconds."""
    del after
    checked: CheckedRows = call.prepared
    return checked
