"""`commonplace sync`: upload this machine's transcripts and tracked files."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from commonplace import errors
from commonplace.client.companion import ends
from commonplace.client.link import (
    agent_transcripts,
    hook_command,
    manifest,
    remote,
    self_test,
    sync_settings,
    sync_state,
)
from commonplace.client.link.progress import format_count
from commonplace.client.link.sync_run import SyncOptions, SyncReport
from commonplace.client.link.sync_run import run_sync as run_once
from commonplace.client.link.upload_client import UploadClient
from commonplace.client.link.workspaces import MachineWorkspaces, machine_name
from commonplace.client.processes import start_detached

_MAX_PATHS_SHOWN = 20


def run(arguments: argparse.Namespace) -> int:
    return _ACTS[arguments.act](arguments)


def _run_sync(arguments: argparse.Namespace) -> int:
    flags = {name: getattr(arguments, name) for name in ("dry_run", "raw", "spool")}
    if not flags["dry_run"]:
        ends.deliver_ends()
    report = run_once(SyncOptions(**flags, seconds=arguments.seconds))
    print(_format_plan(report) if flags["dry_run"] else _format_report(report))
    if report.postponed:
        log = remote.client_home() / "sync.log"
        start_detached(["sync", "run", *(["--raw"] if flags["raw"] else [])], log)
        print(f"{report.postponed} more are being sent in the background; see {log}.")
    for problem in (*report.conflicts, *report.failures):
        print(f"  {problem}", file=sys.stderr)
    if report.conflicts or report.forbidden:
        return (errors.Conflict if report.conflicts else errors.Forbidden).exit_code
    return int(bool(report.failures))


def _format_report(report: SyncReport) -> str:
    masked = ", ".join(f"{count} {kind}" for kind, count in sorted(report.masked.items()))
    parts = [
        f"{format_count(report.transcripts, 'transcript')} sent ({report.bytes / 1e6:.1f} MB), {format_count(len(report.files), 'file')}.",
        f"{report.waiting} are still being written." if report.waiting else "",
        f"Masked: {masked}." if masked else "",
    ]
    return " ".join(part for part in parts if part)


def _format_plan(report: SyncReport) -> str:
    lines = [
        f"  {transcript.path}{f' ({transcript.name})' if transcript.name else ''}"
        for transcript in report.pending[:_MAX_PATHS_SHOWN]
    ]
    lines += [f"  and {len(report.pending) - _MAX_PATHS_SHOWN} more"] * (
        len(report.pending) > _MAX_PATHS_SHOWN
    )
    head = f"Would send {format_count(len(report.pending), 'transcript')} (about {report.bytes / 1e6:.1f} MB), {format_count(len(report.files), 'file')}."
    return "\n".join([head, *lines, *(f"  {path}" for path in report.files[:_MAX_PATHS_SHOWN])])


def _run_test(_arguments: argparse.Namespace) -> int:
    exit_code = 0
    for finding in self_test.run_self_test():
        print(f"{'no' if finding.fault else 'ok'}  {finding.subject:12}{finding.message}")
        exit_code = exit_code or (finding.fault.exit_code if finding.fault else 0)
    return exit_code


def _run_init_manifest(arguments: argparse.Namespace) -> int:
    server = sync_settings.require_sync_server()
    tool = agent_transcripts.canonical_tool(arguments.tool)
    client = UploadClient(server)
    try:
        with sync_state.open_state(server.url) as state:
            workspaces = MachineWorkspaces(client, state, machine_name(remote.read_configuration()))
            workspace = workspaces.find_or_register(tool, arguments.project)
            state.save_folder(str(Path(arguments.cwd).expanduser().resolve()))
    except remote.ServerUnreachable as error:
        raise errors.Unavailable(str(error), hint="Start the server and try again.") from None
    except remote.ServerRefusal as refused:
        raise sync_settings.to_refusal(refused) from None
    finally:
        client.close()
    folders = _memory_folders(tool, Path(arguments.cwd))
    path = manifest.write_manifest(
        manifest.Manifest(workspace.id, workspace.machine, tool, arguments.project, tracked_dirs=folders)
    )
    print(f"{path} tracks {', '.join(folder.local for folder in folders) or 'nothing yet'}.")
    return 0


def _memory_folders(tool: str, cwd: Path) -> list[manifest.TrackedFolder]:
    """The agent's own notes on the project, if it keeps any."""
    agent = agent_transcripts.find_agent_transcripts(tool)
    if agent is None or agent.memory_folder is None:
        return []
    return [manifest.TrackedFolder(str(agent.memory_folder(cwd.expanduser().resolve())), "memory")]


def _run_hook(_arguments: argparse.Namespace) -> int:
    return hook_command.main(sys.argv[1:])


_ACTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run_sync,
    "test": _run_test,
    "init-manifest": _run_init_manifest,
    "hook": _run_hook,
}
