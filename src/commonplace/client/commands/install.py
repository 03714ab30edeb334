"""commonplace install and uninstall: server, hooks and schedule for the agents of this machine, and back."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from commonplace import errors
from commonplace.client.agents import AGENTS, AgentProgram, load_settings
from commonplace.client.install import agents, changes, machine, record, schedule, settings
from commonplace.client.install.changes import Change, Wanted
from commonplace.client.install.machine import Machine
from commonplace.client.install.record import Installed
from commonplace.client.remote import RemoteServer


def run(arguments: argparse.Namespace) -> int:
    return _uninstall(arguments) if arguments.removes else _install(arguments)


def _install(arguments: argparse.Namespace) -> int:
    here, installed = machine.here(), record.load()
    server = settings.chosen(arguments.url, arguments.key)
    named = dict.fromkeys(arguments.agent or ())
    chosen = [AGENTS[name] for name in named] or agents.find_installed_agents(here)
    by = "" if arguments.no_schedule else schedule.kind(here)
    prompts = settings.learnings(arguments.learnings)
    token = settings.checked("--sync-token", arguments.sync_token or "")
    secrets = [each for each in (server.key, token) if each]
    wanted = settings.wanted(server, arguments.url, arguments.key, prompts, token)
    wanted += _wanted(chosen, here, server, prompts > 0)
    scheduling = schedule.wishes(here, by)
    wanted += [Wanted(wish, part="schedule") for wish in scheduling]
    changed = changes.additions(installed, wanted, [(agent.name, "hooks") for agent in chosen])
    rewritten = {wish.path for wish in scheduling} & {change.path for change in changed}
    telling = bool(rewritten) or (bool(by) and not schedule.is_set(here, by, installed.schedule))
    if not changed and not telling:
        print("Nothing to change.")
        return 0
    _show(changed, secrets)
    if telling:
        print(schedule.described(here, by))
    if arguments.dry_run or not _agreed(arguments.yes):
        return 0
    kept = changes.carry_out(changed, installed, secrets)
    _schedule(here, by, installed, telling=telling)
    _report(changed, kept)
    print(f"{', '.join(agent.title for agent in chosen)}: set up for {server.url}.")
    for agent in chosen:
        if note := load_settings(agent.name).note:
            print(note)
    if not by and not arguments.no_schedule:
        print("No scheduler was found: hooks upload transcripts, the rest with commonplace sync run.")
    return 0


def _wanted(
    chosen: Sequence[AgentProgram], here: Machine, server: RemoteServer, prompts: bool
) -> list[Wanted]:
    wanted = []
    for agent in chosen:
        of_agent = load_settings(agent.name)
        wanted += [Wanted(wish, agent.name) for wish in of_agent.connection_edits(here, server, "user")]
        wanted += [Wanted(wish, agent.name, "hooks") for wish in of_agent.hook_edits(here, prompts)]
    return wanted


def _uninstall(arguments: argparse.Namespace) -> int:
    installed = record.load()
    leaving = set(arguments.agent or installed.agents())
    last = installed.agents() <= leaving
    changed = changes.removals(installed, leaving | {""} if last else leaving)
    if not changed and not (last and installed.schedule):
        print("Nothing to take away.")
        return 0
    _show(changed, settings.written_secrets())
    if arguments.dry_run or not _agreed(arguments.yes):
        return 0
    if last:
        _unschedule(installed)
    _report(changed, changes.carry_out(changed, installed))
    return 0


def _show(changed: Sequence[Change], secrets: Sequence[str]) -> None:
    for change in changed:
        print(change.diff(secrets), end="")


def _agreed(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise errors.Invalid("Nobody is there to agree.", hint="Give --yes, or only look with --dry-run.")
    return input("Write these changes? [y/N] ").strip().lower() in {"y", "yes"}


def _schedule(here: Machine, by: str, installed: Installed, *, telling: bool) -> None:
    """Hooks upload as well, so a schedule that can not be set is told and stops nothing."""
    if not telling:
        return
    _unschedule(installed)
    try:
        installed.schedule = schedule.start(here, by)
    except errors.Unavailable as refusal:
        print(f"commonplace: no schedule was set: {refusal.message}", file=sys.stderr)
    record.save(installed)


def _unschedule(installed: Installed) -> None:
    if installed.schedule is None:
        return
    try:
        schedule.stop(installed.schedule)
    except errors.Unavailable as refusal:
        print(f"commonplace: the schedule stays: {refusal.message}", file=sys.stderr)
    installed.schedule = None
    record.save(installed)


def _report(changed: Sequence[Change], kept: Path | None) -> None:
    for change in changed:
        print(f"{'Removed' if change.after is None else 'Wrote'} {change.path}")
    if kept:
        print(f"The files as they were: {kept}")
