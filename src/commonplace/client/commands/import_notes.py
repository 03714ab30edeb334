"""`commonplace import`: store what is already known on this machine as documents and backlog items, once."""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client.commands import import_workspaces, sync
from commonplace.client.commands.import_report import ImportReport
from commonplace.client.day_zero import note_sources
from commonplace.client.day_zero.found_note import Found, FoundChecklist, FoundNote, FoundTask, clean_tags
from commonplace.client.day_zero.work_folders import list_repositories
from commonplace.client.day_zero.workspace_tree import is_workspace_tree
from commonplace.client.install.machine import this_machine
from commonplace.client.link.progress import print_progress
from commonplace.client.people import terminal
from commonplace.client.project import project_from_files, project_of_folder
from commonplace.quoting import IMPORTER

CallOperation = Callable[[str, Mapping[str, Any]], dict[str, Any]]
_LISTED_TASKS = 100
_NOTE, _TASK, _CHECKLIST = "note", "backlog item", "checklist"
_NOUNS: dict[type[Found], str] = {FoundNote: _NOTE, FoundTask: _TASK, FoundChecklist: _CHECKLIST}


def run(arguments: argparse.Namespace, call_operation: CallOperation) -> int:
    path = Path(arguments.path).expanduser() if arguments.path else None
    if path and is_workspace_tree(path):
        return import_workspaces.run(path, arguments.project, call_operation, dry_run=arguments.dry_run)
    machine, report = this_machine(), ImportReport(_NOTE)
    own = project_of_folder(machine.project_folder)
    if arguments.everything and not _is_confirmed(arguments):
        return 0
    exit_code = _import_transcripts(arguments, report) if arguments.everything else 0
    found = list(_list_found(arguments, machine.home, machine.project_folder, report))
    by_project: dict[str, list[Found]] = {}
    for each in found:
        by_project.setdefault(arguments.project or each.project or own, []).append(each)
    if arguments.dry_run:
        _print_found(by_project, report)
    else:
        for project, items in by_project.items():
            _store_found(items, project, call_operation, report)
    report.print_lines(dry_run=arguments.dry_run)
    return exit_code


def _is_confirmed(arguments: argparse.Namespace) -> bool:
    """Ask at a terminal: it sends every transcript and stores notes of every repository that they name."""
    if arguments.yes or arguments.dry_run or not sys.stdin.isatty():
        return True
    print(
        "This sends the transcripts on this machine and stores the notes of the repositories that they name."
    )
    print("`--dry-run` lists them first. Secrets are masked.")
    return terminal.ask("Go on? [y/N] ").strip().lower() in {"y", "yes"}


def _import_transcripts(arguments: argparse.Namespace, report: ImportReport) -> int:
    """They go to the server that this machine uses, which archives them; notes can be stored without one."""
    if arguments.data or arguments.store or arguments.url:
        report.skip("transcripts", "they go to the server that this machine uses: commonplace sync run")
        return 0
    print(f"{'transcripts':12}", end="", flush=True)
    try:
        return sync.run(
            argparse.Namespace(act="run", dry_run=arguments.dry_run, raw=False, spool=False, seconds=math.inf)
        )
    except errors.Refusal as refusal:
        print("not read, see below")
        report.skip("transcripts", f"{refusal.message} {refusal.hint or ''}".strip())
        return 0


def _print_found(by_project: Mapping[str, Sequence[Found]], report: ImportReport) -> None:
    for project, items in by_project.items():
        for item in items:
            print(f"{item.source:22}{project:20}{item.title[:60]:62}{item.origin}")
            report.count_stored(_NOUNS[type(item)])


def _list_found(
    arguments: argparse.Namespace, home: Path, repository: Path, report: ImportReport
) -> Iterator[Found]:
    if arguments.path:
        path = Path(arguments.path).expanduser()
        if not path.exists():
            raise errors.NotFound(f"There is nothing at {path}.", hint="Check the path.")
        yield from note_sources.list_path(path, report.skip)
        return
    repositories = list_repositories(repository) if arguments.everything else [repository]
    for folder in repositories:
        for found in _list_repository(arguments, home, folder, report):
            named = found.project or ("" if folder == repository else project_from_files(folder))
            yield replace(found, project=named)
    yield from note_sources.list_home_notes(home, report.skip, with_instructions=arguments.notes)


def _list_repository(
    arguments: argparse.Namespace, home: Path, folder: Path, report: ImportReport
) -> Iterator[Found]:
    yield from note_sources.list_repository_notes(folder, report.skip, with_instructions=arguments.notes)
    yield from note_sources.list_claude_memories(home, folder, report.skip)
    if arguments.everything:
        yield from note_sources.list_known_stores(home, folder, report.skip)
    if arguments.git or arguments.everything:
        yield from note_sources.list_commit_notes(folder, report.skip)


def _store_found(
    items: Sequence[Found], project: str, call_operation: CallOperation, report: ImportReport
) -> None:
    """One session for all of a project."""
    started = call_operation(
        "memory_start_session",
        {"project": project, "claude_instance": IMPORTER, "task_description": "import of notes"},
    )
    session = {"session_id": started["session_id"]}

    def call(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return call_operation(name, dict(values) | session)

    before = report.stored[_NOTE]
    _store_notes([item for item in items if isinstance(item, FoundNote)], project, call, report)
    _add_tasks([item for item in items if isinstance(item, FoundTask)], project, call, report)
    _create_checklists([item for item in items if isinstance(item, FoundChecklist)], project, call, report)
    call("memory_end_session", {"summary": f"Imported {report.stored[_NOTE] - before} notes"})


def _store_notes(notes: Sequence[FoundNote], project: str, call: CallOperation, report: ImportReport) -> None:
    """A note that is stored already is known by its text, so a second run stores nothing."""
    for number, note in enumerate(notes, 1):
        print_progress(f"storing in {project}", number, len(notes))
        try:
            call("memory_store", note.to_arguments(project))
            report.count_stored(_NOTE)
        except errors.Duplicate:
            report.count_stored("")
        except errors.Refusal as refusal:
            report.skip(note.origin, refusal.message)


def _add_tasks(tasks: Sequence[FoundTask], project: str, call: CallOperation, report: ImportReport) -> None:
    """Add all first, so that each can name those that it depends on; tasks of an earlier run are known by their tag."""
    ids: dict[str, str] = {}
    for source in {task.source for task in tasks}:
        ids |= _list_known_tasks(source, project, call)
    added = []
    for task in tasks:
        [tag] = clean_tags((task.key,)) or [task.key]
        if tag in ids:
            report.count_stored("")
            continue
        try:
            ids[tag] = call("memory_add_backlog_item", task.to_arguments(project))["id"]
        except errors.Refusal as refusal:
            report.skip(f"{task.origin}: {task.key}", refusal.message)
            continue
        added.append(task)
        report.count_stored(_TASK)
    for task in added:
        blockers = [ids[tag] for tag in clean_tags(task.depends_on) if tag in ids]
        if blockers:
            own = ids[clean_tags((task.key,))[0]]
            call("memory_update_backlog_item", {"item_id": own, "depends_on": blockers})


def _create_checklists(
    checklists: Sequence[FoundChecklist], project: str, call: CallOperation, report: ImportReport
) -> None:
    """A list whose name exists is left as it is."""
    for checklist in checklists:
        created = checklist.to_arguments(project)
        try:
            call("memory_checklist", created)
            for index, item in enumerate(checklist.items):
                if item.is_done:
                    checked = {"action": "check", "name": created["name"], "project": project}
                    call("memory_checklist", checked | {"item_index": index, "notes": item.format_notes()})
            report.count_stored(_CHECKLIST)
        except errors.Duplicate:
            report.count_stored("")
        except errors.Refusal as refusal:
            report.skip(checklist.origin, refusal.message)


def _list_known_tasks(source: str, project: str, call: CallOperation) -> dict[str, str]:
    """The ids of items that were imported before, by each of their tags; one of them is the key."""
    known: dict[str, str] = {}
    offset: int | None = 0
    while offset is not None:
        wanted = {"project": project, "tag": f"from-{source}", "include_done": True}
        page = call("memory_list_backlog", wanted | {"limit": _LISTED_TASKS, "offset": offset})
        for item in page["items"]:
            known |= dict.fromkeys(item.get("tags", ()), item["id"])
        offset = page.get("next_offset")
    return known
