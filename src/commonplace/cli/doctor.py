"""`commonplace doctor`: what is wrong on this machine and its server, and the command that fixes it."""

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from commonplace import config, errors
from commonplace.beacon import BEACON, read_beacon
from commonplace.cli import operation_call
from commonplace.cli.doctor_rows import check_row_hashes
from commonplace.client.doctor.finding import EXIT_CODES, Finding, find_worst
from commonplace.client.doctor.machine_checks import check_agents, check_files, check_guard, check_uploads
from commonplace.client.doctor.program_checks import check_program
from commonplace.client.doctor.server_checks import check_key, check_server, check_upload_key
from commonplace.client.link.server_choice import ServerChoice
from commonplace.client.program import spell_commands
from commonplace.data_folder import DATABASE, find_holder

_MARKS = {"ok": "ok", "warning": "warn", "problem": "BAD"}


def run(arguments: argparse.Namespace) -> int:
    findings = list(_examine(arguments))
    if arguments.fix:
        findings = [_fix(finding) for finding in findings]
    worst = find_worst(findings)
    if arguments.json:
        print(
            json.dumps({"health": worst, "findings": [finding.to_dict() for finding in findings]}, indent=2)
        )
    else:
        for finding in findings:
            print(spell_commands(_format_finding(finding)))
    return EXIT_CODES[worst]


def _examine(arguments: argparse.Namespace) -> Iterator[Finding]:
    yield from check_program()
    try:
        choice = next(operation_call.list_server_choices(arguments))
    except errors.Refusal as refusal:
        yield Finding("server", "problem", refusal.message, refusal.hint or "")
    else:
        yield from _examine_server(choice, arguments)
    yield from check_agents()
    yield from check_guard()
    yield from check_uploads()
    yield from check_files()


def _examine_server(choice: ServerChoice, arguments: argparse.Namespace) -> Iterator[Finding]:
    settings = config.read_settings({"data": arguments.data, "store": arguments.store})
    if choice.server:
        server = list(check_server(choice.server, choice.named_by))
        yield from server
        if find_worst(server) == "problem":
            return
        key = list(check_key(choice.server))
        yield from key
        if find_worst(key) == "ok":
            yield from check_upload_key(choice.server)
    else:
        yield Finding("server", "warning", f"no server runs on {choice.named_by}", "commonplace serve")
        yield from _check_beacon(settings.data)
        if settings.store == "sqlite" and not (settings.data / DATABASE).exists():
            yield Finding("store", "ok", f"there is no data in {settings.data} yet")
            return
    yield from _ask_server(arguments)
    yield from check_row_hashes(arguments)
    if arguments.deep and settings.store == "sqlite" and (settings.data / DATABASE).exists():
        yield asyncio.run(_check_integrity(settings.data / DATABASE))


def _ask_server(arguments: argparse.Namespace) -> Iterator[Finding]:
    try:
        inspection = operation_call.call_operation("memory_inspect_server", {}, arguments)
    except (errors.Forbidden, errors.NotFound):
        yield Finding("store", "ok", "not examined: that needs an admin's key, or the server's own machine")
        return
    except errors.Refusal as refusal:
        yield Finding("store", "problem", refusal.message, refusal.hint or "")
        return
    for finding in inspection["findings"]:
        yield Finding(finding["check"], finding["health"], finding["message"], finding.get("command", ""))


def _check_beacon(folder: Path) -> Iterator[Finding]:
    """A server that was killed leaves the file by which commands find it."""
    if read_beacon(folder) and find_holder(folder) is None:
        path = folder / BEACON
        yield Finding(
            "address", "warning", f"{path} is left of a server that was killed", f"rm {path}", path.unlink
        )


async def _check_integrity(database: Path) -> Finding:
    from commonplace.store.sqlite_snapshot import SqliteSnapshot  # only its driver

    restore = f"commonplace restore BACKUP --data {database.parent}"
    try:
        snapshot = SqliteSnapshot(database)
    except errors.Refusal as damaged:
        return Finding("integrity", "problem", damaged.message, restore)
    try:
        found = await snapshot.check_integrity()
    except errors.Refusal as damaged:
        return Finding("integrity", "problem", damaged.message, restore)
    finally:
        await snapshot.close()
    if found:
        return Finding("integrity", "problem", f"{database} is damaged: {found[0]}", restore)
    return Finding("integrity", "ok", f"{database} is intact")


def _fix(finding: Finding) -> Finding:
    if finding.fix is None or finding.health == "ok":
        return finding
    try:
        finding.fix()
    except OSError as error:
        return Finding(
            finding.check, finding.health, f"{finding.message} (not fixed: {error})", finding.command
        )
    return Finding(finding.check, "ok", f"fixed: {finding.message}")


def _format_finding(finding: Finding) -> str:
    line = f"{_MARKS[finding.health]:5}{finding.check:12} {finding.message}"
    return f"{line}\n{'':18}-> {finding.command}" if finding.command else line
