"""`commonplace install` and `uninstall`: server, hooks and schedule for the agents on this machine."""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from commonplace import errors
from commonplace.client import program
from commonplace.client.agents import AGENTS, AgentProgram, load_settings
from commonplace.client.commands import guard
from commonplace.client.install import (
    changes,
    client_config,
    connection_test,
    install_record,
    install_summary,
    installed_agents,
    machine,
    own_key,
    schedule,
)
from commonplace.client.install.changes import FileChange, RequestedEdit
from commonplace.client.install.install_record import InstallRecord
from commonplace.client.install.install_summary import InstallPlan
from commonplace.client.install.machine import Machine
from commonplace.client.install.setting_edits import SettingEdit, WriteFile
from commonplace.client.link.remote import RemoteServer
from commonplace.client.people import terminal


def run(arguments: argparse.Namespace) -> int:
    guarded = guard.require_hooks_folder() if arguments.guard else None
    if not arguments.dry_run:
        program.make_lasting()
    plan = _plan_install(arguments)
    adds_guard = guarded is not None and not guard.is_installed(guarded)
    if not plan.changed and not plan.is_rescheduled and not adds_guard:
        print("Nothing to change.")
        return 0
    print(install_summary.render_summary(plan, guarded if adds_guard else None))
    if not arguments.no_diff:
        _print_diffs(plan.changed, plan.secrets)
    if plan.is_rescheduled:
        print(schedule.describe_schedule(plan.machine, plan.scheduler))
    if arguments.dry_run or not _confirm_install(plan, arguments):
        return 0
    _apply_install(plan)
    if guarded is not None or (not arguments.yes and _wants_guard()):
        guard.install_guard()
    _print_notes(plan, arguments)
    return 0


def _plan_install(arguments: argparse.Namespace) -> InstallPlan:
    this_machine, installed = machine.this_machine(), install_record.load_record()
    server = own_key.add_local_token(client_config.choose_server(arguments.url, arguments.key))
    if key := own_key.create_missing_key(arguments, server):
        arguments.key, server = key, server._replace(key=key)
    toolsets = client_config.choose_toolsets(arguments.toolsets, arguments.url)
    named = [AGENTS[name] for name in dict.fromkeys(arguments.agent or ())]
    chosen = dict.fromkeys(
        named or installed_agents.find_installed_agents(this_machine),
        client_config.choose_view(server, toolsets),
    )
    prompts = client_config.choose_learnings(arguments.learnings)
    token = client_config.require_key_characters("--sync-token", arguments.sync_token or "")
    if not arguments.force:
        connection_test.require_connections(chosen.values())
        _warn_about_uploads(server, token)
    wanted = client_config.plan_config_edits(server, arguments.url, arguments.key, prompts, token, toolsets)
    wanted += _plan_agent_edits(chosen, this_machine, prompts > 0)
    if arguments.status_line:
        wanted += [
            RequestedEdit(edit, agent.name, "settings")
            for agent in chosen
            for edit in load_settings(agent.name).status_line_edits(this_machine)
        ]
    if program.needs_shim():
        shim = WriteFile(
            program.programs_folder() / program.script_name(), program.render_shim(this_machine.program)
        )
        wanted.append(RequestedEdit(shim, part="settings"))
    scheduler = "" if arguments.no_schedule else schedule.find_scheduler(this_machine)
    scheduling = schedule.schedule_edits(this_machine, scheduler)
    wanted += [RequestedEdit(wish, part="schedule") for wish in scheduling]
    changed = changes.plan_additions(installed, wanted, [(agent.name, "hooks") for agent in chosen])
    is_rewritten = bool({wish.path for wish in scheduling} & {change.path for change in changed})
    is_unscheduled = bool(scheduler) and not schedule.is_scheduled(
        this_machine, scheduler, installed.schedule
    )
    return InstallPlan(
        this_machine,
        installed,
        server,
        chosen,
        changed,
        [secret for secret in (server.key, token) if secret],
        scheduler,
        is_rescheduled=is_rewritten or is_unscheduled,
    )


def _apply_install(plan: InstallPlan) -> None:
    backups = changes.apply_changes(plan.changed, plan.installed, plan.secrets)
    _set_schedule(plan.machine, plan.scheduler, plan.installed, reschedule=plan.is_rescheduled)
    _print_changes(plan.changed, backups)


def _wants_guard() -> bool:
    """Ask in a repository that has no guard; only a terminal is asked."""
    folder = guard.find_unguarded_folder()
    if folder is None or not sys.stdin.isatty():
        return False
    answer = terminal.ask(f"Also check leases before every git commit here ({folder})? [y/N] ")
    return answer.strip().lower() in {"y", "yes"}


def _print_notes(plan: InstallPlan, arguments: argparse.Namespace) -> None:
    print(f"{', '.join(agent.title for agent in plan.chosen)}: connected to {plan.server.url}.")
    if str(program.programs_folder()) not in os.environ.get("PATH", "").split(os.pathsep):
        print(
            f"`commonplace` is in {program.programs_folder()}. To type it in every shell, add that to your PATH."
        )
    for agent in plan.chosen:
        if note := load_settings(agent.name).note:
            print(note)
    if not arguments.status_line and any(
        load_settings(a.name).status_line_edits(plan.machine) for a in plan.chosen
    ):
        print("To show in Claude Code's status line who needs you: commonplace install --status-line")
    if not plan.scheduler and not arguments.no_schedule:
        print("No scheduler was found: hooks upload transcripts; run `commonplace sync run` for the rest.")


def _warn_about_uploads(server: RemoteServer, token: str) -> None:
    """Say at once what uploads need: hooks and the schedule could only log it."""
    if connection_test.is_upload_refused(server.url, token or client_config.read_sync_token(server)):
        create = "commonplace key create --name NAME --projects '*'"
        print(
            "commonplace: transcripts will not be uploaded: this key may not write.\n"
            f"  An owner creates one that may: {create}\n  Then: commonplace install --key KEY",
            file=sys.stderr,
        )


def _plan_agent_edits(
    chosen: Mapping[AgentProgram, RemoteServer], this_machine: Machine, prompts: bool
) -> list[RequestedEdit]:
    wanted = []
    for agent, server in chosen.items():
        settings = load_settings(agent.name)
        wanted += [
            RequestedEdit(wish, agent.name)
            for wish in settings.connection_edits(this_machine, server, "user")
        ]
        wanted += [
            RequestedEdit(wish, agent.name, "hooks") for wish in settings.hook_edits(this_machine, prompts)
        ]
    return wanted


def run_uninstall(arguments: argparse.Namespace) -> int:
    installed = install_record.load_record()
    leaving = set(arguments.agent or installed.list_agents())
    last = installed.list_agents() <= leaving
    hooks = _list_hook_edits(arguments.agent or AGENTS)
    changed = changes.plan_removals(installed, leaving | {""} if last else leaving, hooks)
    if not changed and not (last and installed.schedule):
        print("Nothing to remove.")
        return 0
    _print_diffs(changed, client_config.read_written_secrets())
    if arguments.dry_run or not _confirm_changes(arguments.yes):
        return 0
    if last:
        _remove_schedule(installed)
        guard.uninstall_everywhere()
    _print_changes(changed, changes.apply_changes(changed, installed))
    return 0


def _list_hook_edits(agents: Iterable[str]) -> list[SettingEdit]:
    this_machine = machine.this_machine()
    return [edit for agent in agents for edit in load_settings(agent).hook_edits(this_machine, True)]


def _print_diffs(changed: Sequence[FileChange], secrets: Sequence[str]) -> None:
    for change in changed:
        print(change.render_diff(secrets), end="")


def _confirm_install(plan: InstallPlan, arguments: argparse.Namespace) -> bool:
    """Without a diff on the screen, the question offers it."""
    if arguments.yes or not arguments.no_diff or not sys.stdin.isatty():
        return _confirm_changes(arguments.yes)
    answer = terminal.ask("Write these changes? [y/N, d shows them line by line] ").strip().lower()
    if answer != "d":
        return answer in {"y", "yes"}
    _print_diffs(plan.changed, plan.secrets)
    return _confirm_changes(False)


def _confirm_changes(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise errors.Invalid(
            "Cannot ask for confirmation without a terminal.",
            hint="Pass --yes, or --dry-run to only show the changes.",
        )
    return terminal.ask("Write these changes? [y/N] ").strip().lower() in {"y", "yes"}


def _set_schedule(this_machine: Machine, by: str, installed: InstallRecord, *, reschedule: bool) -> None:
    """Hooks upload too, so a failure to set the schedule is only reported."""
    if not reschedule:
        return
    _remove_schedule(installed)
    try:
        installed.schedule = schedule.start_schedule(this_machine, by)
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


def _print_changes(changed: Sequence[FileChange], backups: Path | None) -> None:
    for change in changed:
        print(f"{'Removed' if change.after is None else 'Wrote'} {change.path}")
    if backups:
        print(f"Backups: {backups}")
