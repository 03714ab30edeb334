"""Waits between agents: who is told that somebody waits, and what ends a wait.

A blocked work item names what it waits for: an agent, a backlog item, a spec, a message, or a signal. The rooms of
those things call `end_waits` when one of them happens. The SQL is in `store.py`, the names of a wait in `model.py`.
"""

from collections.abc import Collection, Mapping, Sequence

from commonplace.call import Call
from commonplace.identity import liveness
from commonplace.identity.session import AgentSession
from commonplace.notices import Notice, drop_notices, notify_sessions
from commonplace.rooms.work import model, store
from commonplace.rooms.work.contributes import WORK_UNBLOCKED
from commonplace.rooms.work.item_store import list_open_needs
from commonplace.rooms.work.model import WaitAnnouncement
from commonplace.store.database import Row

_MAX_NEEDS_NAMED = 3
_SENT_BEFORE = (
    "This signal was sent before you began to wait. You are shown as blocked until you report status='in_progress', or it"
    " is sent again."
)

_GOES_ON = "So this work is in progress, not blocked."


async def announce_wait(
    call: Call, work_id: str, wait: Mapping[str, str], *, signal_was_sent: bool
) -> WaitAnnouncement:
    """Tell the agents that this wait depends on; where only a signal is named, tell the whole project."""
    names = model.list_awaited_names(wait)
    targets = await store.find_awaited(call.tx, call.own_session.project, names, call.agent) if names else []
    if signal_was_sent:
        return WaitAnnouncement(message=_SENT_BEFORE)
    if not names:
        return WaitAnnouncement()
    open_targets = [row for row in targets if not row["closed"]]
    if targets and not open_targets and not wait["waiting_for"]:
        await store.unblock_work(call.tx, call.own_session.project, [work_id], call.now)
        return WaitAnnouncement(message=f"{model.explain_closed(targets)} {_GOES_ON}")
    if not targets and wait["waiting_for"]:
        project, own = call.own_session.project, call.own_session.id
        everybody = await liveness.list_live_sessions(call.tx, project, call.now, but=own)
        return WaitAnnouncement(await _notify_of_wait(call, work_id, wait, [], everybody))
    agents = sorted({row["agent"] for row in open_targets} - {call.agent, ""})
    sessions = await liveness.list_live_sessions(call.tx, call.own_session.project, call.now, agents=agents)
    notified = await _notify_of_wait(call, work_id, wait, open_targets, sessions)
    return WaitAnnouncement(
        notified, model.explain_wait(call.agent, wait, targets, set(agents) - set(notified))
    )


async def _notify_of_wait(
    call: Call, work_id: str, wait: Mapping[str, str], targets: Sequence[Row], sessions: Sequence[Row]
) -> list[str]:
    """Leave the notice of a wait; it has a name, so that nobody is told of a wait that is over."""
    text = model.format_wait(call.agent, wait, targets)
    notice = Notice("wait", {"text": text}, work_id)
    await notify_sessions(
        call.tx, call.own_session.project, [row["id"] for row in sessions], notice, call.now
    )
    return sorted({row["agent"] for row in sessions})


async def end_waits(
    call: Call,
    project: str,
    causes: Mapping[str, str],
    details: str = "",
    news: Mapping[str, str] | None = None,
) -> list[str]:
    """Unblock the work that waits for one of the names in `causes` and tell its agents why; return those agents.

    `details` are for all of them; `news` is what else each agent is to know, so that it gets one notice.
    """
    unblocked: list[tuple[Row, str, str]] = []
    for row in await store.list_waiting_work(call.tx, project):
        cause = next((causes[name] for name in model.list_awaited_names(row) if name in causes), "")
        if cause and not row["is_item_blocked"]:
            unblocked.append((row, cause, f"{details} {(news or {}).get(row['agent'], '')}"))
    return await _unblock_work(call, project, unblocked)


async def end_waits_for_message(
    call: Call, project: str, recipients: Collection[str], reply_to: str
) -> list[str]:
    """Unblock recipients that wait for nothing but a word of the sender, or for an answer to this message."""
    unblocked: list[tuple[Row, str, str]] = []
    for row in await store.list_waiting_work(call.tx, project):
        is_awaited = row["blocked_by"] == call.agent and not row["waiting_for"]
        is_awaited = is_awaited or reply_to in model.list_awaited_names(row)
        if row["agent"] in recipients and is_awaited and not row["is_item_blocked"]:
            unblocked.append((row, f"{call.agent} wrote to you", ""))
    return await _unblock_work(call, project, unblocked)


async def announce_departure(call: Call, session: AgentSession) -> None:
    """Tell who waits for this agent that its session has ended; the work stays blocked."""
    project, agent = session.project, session.agent
    for row in await store.list_waiting_work(call.tx, project):
        if row["agent"] != agent and agent in model.list_awaited_names(row):
            text = model.format_departure(agent, row["title"])
            await notify_sessions(call.tx, project, [row["session"]], text, call.now)


async def announce_arrival(call: Call, agent: str) -> None:
    """Tell who waits for this agent, or for an item or spec of it, that it has started a session."""
    rows = [row for row in await store.list_waiting_work(call.tx, call.project) if row["agent"] != agent]
    names = list(dict.fromkeys(name for row in rows for name in model.list_awaited_names(row)))
    if not names:
        return
    targets = await store.find_awaited(call.tx, call.project, names, "")
    awaited = {target["name"] for target in targets if target["agent"] == agent and not target["closed"]}
    for row in rows:
        things = [name for name in model.list_awaited_names(row) if name in awaited]
        if things:
            notice = Notice("arrival", {"text": model.format_arrival(agent, row["title"], things)}, agent)
            await notify_sessions(call.tx, call.project, [row["session"]], notice, call.now)


async def _unblock_work(call: Call, project: str, unblocked: Sequence[tuple[Row, str, str]]) -> list[str]:
    """Set this work in progress and tell its session the cause and what else is to be said; the caller's own needs none."""
    if not unblocked:
        return []
    work_ids = [row["id"] for row, _, _ in unblocked]
    await store.unblock_work(call.tx, project, work_ids, call.now)
    await drop_notices(call.tx, project, "wait", subjects=work_ids)
    own_session = call.session.id if call.session else ""
    others = [(row, cause, more) for row, cause, more in unblocked if row["session"] != own_session]
    open_needs = await list_open_needs(call.tx, project, [row for row, _, _ in others]) if others else []
    for row, cause, more in others:
        text = (
            f"{cause}: your work '{row['title']}' {_describe_rest(row, open_needs)}. {more.strip()}".strip()
        )
        await notify_sessions(call.tx, project, [row["session"]], text, call.now)
        call.emit(WORK_UNBLOCKED, project=project, audience=f"inbox:{row['agent']}", title=row["title"])
    return sorted({row["agent"] for row, _, _ in others})


def _describe_rest(work: Row, open_needs: Sequence[Row]) -> str:
    """Say that the wait is over, and what the backlog item of the work still depends on."""
    left = [
        need
        for need in open_needs
        if need["item"] == work["item"]
        or (need["assigned_to"], need["title"]) == (work["agent"], work["title"])
    ]
    if not left:
        return "no longer waits"
    named = ", ".join(f"{need['needs']} ({need['needs_title']})" for need in left[:_MAX_NEEDS_NAMED])
    more = f" and {len(left) - _MAX_NEEDS_NAMED} more" if len(left) > _MAX_NEEDS_NAMED else ""
    return f"no longer waits for that; its backlog item {left[0]['item']} is still blocked by {named}{more}"
