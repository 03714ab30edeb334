"""What an install will do, for people: which agent gets what, before the diff shows it line by line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commonplace.client.agents import AgentProgram
from commonplace.client.install.changes import FileChange
from commonplace.client.install.install_record import InstallRecord
from commonplace.client.install.machine import Machine
from commonplace.client.link.remote import RemoteServer

_LABEL_COLUMNS = 13


@dataclass(frozen=True, slots=True)
class InstallPlan:
    machine: Machine
    installed: InstallRecord
    server: RemoteServer
    chosen: Mapping[AgentProgram, RemoteServer]
    """The agents, each with the server as it will see it."""
    changed: Sequence[FileChange]
    secrets: Sequence[str]
    scheduler: str
    is_rescheduled: bool


def render_summary(plan: InstallPlan, guarded: Path | None) -> str:
    key = "with a key" if plan.server.key else "without a key"
    agents = [_render_line(agent.title, _describe_agent(plan, agent)) for agent in plan.chosen]
    lines = [f"Connect to {plan.server.url}, {key}:", *agents]
    if plan.is_rescheduled:
        lines.append(_render_line("transcripts", f"uploaded every 15 minutes, by {plan.scheduler}"))
    if guarded is not None:
        lines.append(_render_line("git guard", f"checks leases before each commit, in {guarded}"))
    own = [str(change.path) for change in plan.changed if not _list_agents(change)]
    if own:
        lines.append(_render_line("this client", ", ".join(own)))
    return "\n".join([*lines, ""])


def _render_line(label: str, text: str) -> str:
    return f"  {label:{_LABEL_COLUMNS}} {text}"


def _describe_agent(plan: InstallPlan, agent: AgentProgram) -> str:
    files = list(_list_files(plan, agent.name))
    if not files:
        return "no change"
    parts = {edit.part for change in plan.changed for edit in change.record.edits if edit.agent == agent.name}
    what = ["tools"] if "connection" in parts else []
    what += ["hooks"] if "hooks" in parts else []
    return f"{' and '.join(what) or 'settings'}, in {', '.join(files)}"


def _list_files(plan: InstallPlan, agent: str) -> Iterator[str]:
    for change in plan.changed:
        if agent in _list_agents(change):
            yield str(change.path)


def _list_agents(change: FileChange) -> set[str]:
    return {edit.agent for edit in change.record.edits if edit.agent}
