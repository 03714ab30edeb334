"""`commonplace vault`: keep a folder of Markdown in step with the documents of a project, in both directions."""

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.client.install.machine import this_machine
from commonplace.client.project import project_of_folder
from commonplace.client.vault.vault_folder import VaultFolder
from commonplace.client.vault.vault_sync import VaultSync
from commonplace.quoting import IMPORTER

CallOperation = Callable[[str, Mapping[str, Any]], dict[str, Any]]
_MIN_SECONDS = 1.0
_WITHOUT_SESSION = frozenset({"memory_list_documents"})


class VaultSession:
    """Calls of one run. The session is started with the first call that needs one: most runs change nothing."""

    def __init__(self, call: CallOperation, project: str) -> None:
        self._call, self._project, self._id = call, project, ""

    def call(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        if name in _WITHOUT_SESSION:
            return self._call(name, values)
        if not self._id:
            start = {"project": self._project, "claude_instance": IMPORTER, "task_description": "vault"}
            self._id = self._call("memory_start_session", start)["session_id"]
        return self._call(name, dict(values) | {"session_id": self._id})

    def end(self) -> None:
        """Without a summary, because that would be a handoff, which nobody needs."""
        if self._id:
            self._call("memory_end_session", {"session_id": self._id, "summary": ""})


class VaultReport:
    """Prints each line once, however often a watch comes to it again."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self.lines: list[tuple[str, str]] = []

    def tell(self, verb: str, words: str) -> None:
        self.lines.append((verb, words))
        if (verb, words) not in self._told:
            print(f"{verb:17}{words}", flush=True)

    def end_run(self) -> None:
        """What a run did not tell again may be told when it comes back."""
        self._told, self.lines = set(self.lines), []


def run(arguments: argparse.Namespace, call_operation: CallOperation) -> int:
    if arguments.interval < _MIN_SECONDS:
        raise errors.Invalid("The interval is too short.", hint="Pass --interval 1 or more.")
    project = arguments.project or project_of_folder(this_machine().project_folder)
    folder = VaultFolder(Path(arguments.path).expanduser(), project)
    report = VaultReport()
    while True:
        try:
            _run_once(arguments, folder, project, call_operation, report)
        except errors.Unavailable as refusal:
            if not arguments.watch:
                raise
            report.tell("waits", refusal.message)
        if not report.lines and not arguments.watch:
            print("nothing to do")
        report.end_run()
        if not arguments.watch:
            return 0
        time.sleep(arguments.interval)


def _run_once(
    arguments: argparse.Namespace,
    folder: VaultFolder,
    project: str,
    call_operation: CallOperation,
    report: VaultReport,
) -> None:
    session = VaultSession(call_operation, project)
    try:
        VaultSync(
            folder,
            project,
            session.call,
            report.tell,
            tag=arguments.tag or "",
            dry_run=arguments.dry_run,
            restore=arguments.restore,
        ).run()
    finally:
        session.end()
