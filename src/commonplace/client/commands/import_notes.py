"""`commonplace import`: store what is already known on this machine as documents, once."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client.day_zero import note_sources
from commonplace.client.day_zero.found_note import FoundNote
from commonplace.client.install.machine import this_machine
from commonplace.client.project import project_of_folder
from commonplace.quoting import IMPORTER

CallOperation = Callable[[str, Mapping[str, Any]], dict[str, Any]]
_SHOWN_SKIPS = 20


class ImportReport:
    """What was stored, what was there already, and what was left out and why."""

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.known = 0
        self.skipped: list[tuple[str, str]] = []

    def skip(self, path: str, reason: str) -> None:
        self.skipped.append((path, reason))

    def print_lines(self, *, dry_run: bool) -> None:
        print(f"{'would store' if dry_run else 'stored':12}{len(self.stored)} notes")
        if self.known:
            print(f"{'known':12}{self.known} notes were there already")
        for path, reason in self.skipped[:_SHOWN_SKIPS]:
            print(f"{'left out':12}{path}: {reason}")
        if len(self.skipped) > _SHOWN_SKIPS:
            print(f"{'left out':12}and {len(self.skipped) - _SHOWN_SKIPS} more")


def run(arguments: argparse.Namespace, call_operation: CallOperation) -> int:
    machine, report = this_machine(), ImportReport()
    project = arguments.project or project_of_folder(machine.project_folder)
    notes = list(_list_notes(arguments, machine.home, machine.project_folder, report))
    if arguments.dry_run:
        for note in notes:
            print(f"{note.source:22}{note.title[:60]:62}{note.origin}")
            report.stored.append(note.title)
    else:
        _store_notes(notes, project, call_operation, report)
    report.print_lines(dry_run=arguments.dry_run)
    if arguments.everything:
        print("transcripts  commonplace sync run")
    return 0


def _list_notes(
    arguments: argparse.Namespace, home: Path, repository: Path, report: ImportReport
) -> Iterator[FoundNote]:
    if arguments.path:
        path = Path(arguments.path).expanduser()
        if not path.exists():
            raise errors.NotFound(f"There is nothing at {path}.", hint="Check the path.")
        is_json = path.is_file() and path.suffix in (".jsonl", ".json")
        yield from (
            note_sources.list_memory_server_notes(path, report.skip)
            if is_json
            else note_sources.list_markdown(path, report.skip)
        )
        return
    yield from note_sources.list_repository_notes(repository, report.skip)
    yield from note_sources.list_claude_memories(home, repository, report.skip)
    yield from note_sources.list_home_notes(home, report.skip)
    if arguments.git or arguments.everything:
        yield from note_sources.list_commit_notes(repository, report.skip)


def _store_notes(
    notes: list[FoundNote], project: str, call_operation: CallOperation, report: ImportReport
) -> None:
    """One session for all; a note that is stored already is known by its text, so a second run stores nothing."""
    started = call_operation(
        "memory_start_session",
        {"project": project, "claude_instance": IMPORTER, "task_description": "import of notes"},
    )
    for note in notes:
        try:
            call_operation("memory_store", note.to_arguments(project) | {"session_id": started["session_id"]})
            report.stored.append(note.title)
        except errors.Duplicate:
            report.known += 1
        except errors.Refusal as refusal:
            report.skip(note.origin, refusal.message)
    call_operation(
        "memory_end_session",
        {"session_id": started["session_id"], "summary": f"Imported {len(report.stored)} notes"},
    )
