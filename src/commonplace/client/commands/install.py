"""`commonplace install` and `uninstall`: server, hooks and schedule for the agents on this machine."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from commonplace import errors
from commonplace.client.agents import AGENTS, AgentProgram, load_settings
from commonplace.client.install import (
    changes,
    client_config,
    install_record,
    installed_agents,
    machine,
    schedule,
)
from commonplace.client.install.changes import FileChange, RequestedEdit
from commonplace.client.install.install_record import InstallRecord
from commonplace.client.install.machine import Machine
from commonplace.client.remote import RemoteServer


def run(arguments: argparse.Namespace) -> int:
    return _run_uninstall(arguments) if arguments.removes else _run_install(arguments)


def _run_install(arguments: argparse.Namespace) -> int:
    here, installed = machine.this_machine(), install_record.load_record()
    server = client_config.choose_server(arguments.url, arguments.key)
    named = dict.fromkeys(arguments.agent or ())
    chosen = [AGENTS[name] for name in named] or installed_agents.find_installed_agents(here)
    by = "" if arguments.no_schedule else schedule.find_scheduler(here)
    prompts = client_config.choose_learnings(arguments.learnings)
    token = client_config.require_key_characters("--sync-token", arguments.sync_token or "")
    secrets = [each for each in (server.key, token) if each]
    wanted = client_config.plan_config_edits(server, arguments.url, arguments.key, prompts, token)
    wanted += _plan_agent_edits(chosen, here, server, prompts > 0)
    scheduling = schedule.schedule_edits(here, by)
    wanted += [RequestedEdit(wish, part="schedule") for wish in scheduling]
    changed = changes.plan_additions(installed, wanted, [(agent.name, "hooks") for agent in chosen])
    rewritten = {wish.path for wish in scheduling} & {change.path for change in changed}
    telling = bool(rewritten) or (bool(by) and not schedule.is_scheduled(here, by, installed.schedule))
    if not changed and not telling:
        print("Nothing to change.")
        return 0
    _print_diffs(changed, secrets)
    if telling:
        print(schedule.describe_schedule(here, by))
    if arguments.dry_run or not _confirm_changes(arguments.yes):
        return 0
    kept = changes.apply_changes(changed, installed, secrets)
    _set_schedule(here, by, installed, telling=telling)
    _print_changes(changed, kept)
    print(f"{', '.join(agent.title for agent in chosen)}: connected to {server.url}.")
    for agent in chosen:
        if note := load_settings(agent.name).note:
            print(note)
    if not by and not arguments.no_schedule:
        print("No scheduler was found: hooks upload transcripts; run `commonplace sync run` for the rest.")
    return 0


def _plan_agent_edits(
    chosen: Sequence[AgentProgram], here: Machine, server: RemoteServer, prompts: bool
) -> list[RequestedEdit]:
    wanted = []
    for agent in chosen:
        of_agent = load_settings(agent.name)
        wanted += [
            RequestedEdit(wish, agent.name) for wish in of_agent.connection_edits(here, server, "user")
        ]
        wanted += [RequestedEdit(wish, agent.name, "hooks") for wish in of_agent.hook_edits(here, prompts)]
    return wanted


def _run_uninstall(arguments: argparse.Namespace) -> int:
    installed = install_record.load_record()
    leaving = set(arguments.agent or installed.list_agents())
    last = installed.list_agents() <= leaving
    changed = changes.plan_removals(installed, leaving | {""} if last else leaving)
    if not changed and not (last and installed.schedule):
        print("Nothing to remove.")
        return 0
    _print_diffs(changed, client_config.read_written_secrets())
    if arguments.dry_run or not _confirm_changes(arguments.yes):
        return 0
    if last:
        _remove_schedule(installed)
    _print_changes(changed, changes.apply_changes(changed, installed))
    return 0


def _print_diffs(changed: Sequence[FileChange], secrets: Sequence[str]) -> None:
    for change in changed:
        print(change.render_diff(secrets), end="")


def _confirm_changes(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise errors.Invalid(
            "Cannot ask for confirmation without a terminal.", hint="Pass --yes, or --dry-run to only look."
        )
    return input("Write these changes? [y/N] ").strip().lower() in {"y", "yes"}


def _set_schedule(here: Machine, by: str, installed: InstallRecord, *, telling: bool) -> None:
    """Hooks upload too, so a failure to set the schedule is only reported."""
    if not telling:
        return
    _remove_schedule(installed)
    try:
        installed.schedule = schedule.start_schedule(here, by)
    except errors.Unavailable as refusal:
        print(f"commonplace: the schedule was not set: {refusal.message}", file=sys.stderr)
    install_record.save_record(installed)


def _remove_schedule(installed: InstallRecord) -> None:
    if installed.schedule is None:
        return
    try:
        schedule.stop_schedule(installed.schedule)
    except errors.Unavailable as refusal:
        print(f"commonplace: the schedule was not removed: {refusal.message}", file=sys.stderr)
    installed.schedule = None
    install_record.save_record(installed)


def _print_changes(changed: Sequence[FileChange], kept: Path | None) -> None:
    for change in changed:
        print(f"{'Removed' if change.after is None else 'Wrote'} {change.path}")
    if kept:
        print(f"Backups: {kept}")
