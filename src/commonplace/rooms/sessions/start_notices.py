"""Notifies others that a session started: sessions with the same agent name, who waits for it, and admins of a pending
agent."""

from collections.abc import Sequence

from commonplace.call import Call
from commonplace.notices import Notice, notify_agents, notify_sessions
from commonplace.rooms.messages import sending
from commonplace.rooms.messages import store as messages
from commonplace.rooms.messages.contributes import MESSAGE_SENT
from commonplace.rooms.messages.model import PROJECT_ADMINS, MessageDraft
from commonplace.rooms.sessions.agent_identity import ResolvedAgent
from commonplace.rooms.work.waits import announce_arrival
from commonplace.store.database import Row

_MAX_NOTIFIED_SESSIONS = 5


async def notify_session_start(call: Call, agent: ResolvedAgent, live_sessions: Sequence[Row]) -> None:
    """Notify live sessions with the same agent name, else who waits for it; and the admins if it is new and pending."""
    namesakes = [row["id"] for row in live_sessions if row["agent"] == agent.name]
    if namesakes:
        notice = Notice("namesake", {"agent": agent.name, "project": call.project})
        await notify_sessions(call.tx, call.project, namesakes[:_MAX_NOTIFIED_SESSIONS], notice, call.now)
    elif any(row["project_has_waits"] for row in live_sessions):
        await announce_arrival(call, agent.name)
    if agent.is_pending and not agent.is_known:
        await _mail_admins(call, agent)


async def _mail_admins(call: Call, agent: ResolvedAgent) -> None:
    """Send the admins a message, and a notice to those with a live session."""
    admins = await messages.list_admin_names(call.tx, call.project)
    if not admins:
        return
    text = (
        f"'{agent.name}' is not on the roster of {call.project} and is pending."
        " Admit it with memory_project, action='add_agent'."
    )
    row = await sending.insert_message(call.tx, _draft_registration_mail(call, agent, text), admins, call.now)
    await notify_agents(call.tx, call.project, admins, text, call.now)
    for admin in admins:
        call.emit(MESSAGE_SENT, {"agent": admin}, audience=f"inbox:{admin}", id=row["id"], priority="normal")


def _draft_registration_mail(call: Call, agent: ResolvedAgent, text: str) -> MessageDraft:
    return MessageDraft(
        project=call.project,
        sender=agent.name,
        sender_project=call.project,
        to=PROJECT_ADMINS,
        body=text,
        subject="",
        priority="normal",
        category="task",
        require_human=False,
    )
