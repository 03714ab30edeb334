"""Sub-agents: in which session the hook of a sub-agent acts, and how a session of its own starts and ends.

A sub-agent acts for its parent, under the parent's leases, until it calls memory_start_session. From then on it is an
agent of its own with a parent, until it stops or its parent's session ends. `actions.py` has what a hook then does.
"""

from commonplace.client.agents import load_hooks
from commonplace.client.companion.hook_event import HookEvent
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.companion.hook_state import HookState


def choose_acting_run(hook_run: HookRun) -> HookRun:
    """The run in the sub-agent's own session, if it has one; else this run, for its parent."""
    event = hook_run.event
    if not event.subagent or HookState(_own_conversation(hook_run)).load_session() is None:
        return hook_run
    return _own_run(hook_run, hook_run.ensure_session().agent)


def start_own_run(hook_run: HookRun) -> HookRun:
    """The run in a new session of the sub-agent; its parent's state keeps it, so that both end together."""
    own_run = _own_run(hook_run, hook_run.confirm_agent())
    own_run.ensure_session()
    hook_run.state.add_subagent(own_run.event.session)
    return own_run


def list_own_runs(hook_run: HookRun) -> list[HookRun]:
    """The runs of this session's sub-agents that have a session of their own."""
    session = hook_run.state.load_session()
    if session is None:
        return []
    events = [_own_event(hook_run, conversation) for conversation in hook_run.state.list_subagents()]
    runs = [HookRun(hook_run.tool, event, hook_run.settings, spawned_by=session.agent) for event in events]
    return [run for run in runs if run.state.load_session() is not None]


def render_introduction(hook_run: HookRun) -> str:
    """For whom a sub-agent acts, and how it becomes an agent of its own; empty if its parent has no session."""
    session = hook_run.state.load_session()
    if session is None:
        return ""
    agent = hook_run.confirm_agent()
    return (
        f"You are a sub-agent of the agent {agent} in the project {session.project} of Commonplace, the shared memory"
        f" of this team's agents (tools memory_*). You act for {agent} and edit files under its leases. To be an agent"
        f' with leases and mail of your own, call memory_start_session(project="{session.project}") first.'
    )


def _own_run(hook_run: HookRun, parent: str) -> HookRun:
    event = _own_event(hook_run, _own_conversation(hook_run))
    return HookRun(hook_run.tool, event, hook_run.settings, spawned_by=parent)


def _own_event(hook_run: HookRun, conversation: str) -> HookEvent:
    return hook_run.event._replace(session=conversation, subagent="", parent=hook_run.event.session)


def _own_conversation(hook_run: HookRun) -> str:
    event = hook_run.event
    has_conversation = load_hooks(hook_run.tool).subagents_have_conversations
    return event.subagent if has_conversation else f"{event.session}/{event.subagent}"
