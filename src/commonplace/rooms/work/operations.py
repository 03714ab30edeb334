"""Report work and signals, and list what others work on. Rules for overlaps are in `model.py`."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from commonplace.arguments import AgentName, ProjectOrAll
from commonplace.call import Call
from commonplace.clock import HOUR
from commonplace.identity import session as agent_session
from commonplace.identity.liveness import list_dormant_sessions
from commonplace.notices import drop_notices
from commonplace.operation import operation
from commonplace.project import list_asked_projects
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.granting import FencingTokens, require_current_tokens
from commonplace.rooms.locks.model import LeaseMoment, LockRequest
from commonplace.rooms.locks.store import list_candidate_leases, project_ignores_case
from commonplace.rooms.work import item_store, store, waits
from commonplace.rooms.work.contributes import SIGNAL_SENT, WORK_UPDATED, list_active_work
from commonplace.rooms.work.model import (
    EDITS_TITLE,
    MAX_OVERLAPS,
    OPEN_STATUSES,
    OVERLAP_HOURS,
    ActiveWork,
    FileOverlap,
    ReportedStatus,
    ReportedWork,
    ShortNote,
    SignalName,
    SignalNames,
    TouchedFiles,
    WaitAnnouncement,
    WorkChange,
    WorkNotes,
    WorkSignal,
    WorkStatus,
    WorkTitle,
    WorkUpdate,
    choose_reported_work,
    explain_separate_work,
    find_overlaps,
    read_status,
    show_status,
)
from commonplace.search.index import WORK_KIND
from commonplace.store.database import Row


@operation(
    "memory_update_work",
    writes=True,
    example={
        "title": "cart",
        "status": "in_progress",
        "files_touched": ["src/cart.py"],
        "signals": ["cart_ready"],
    },
    keywords="report progress, status update, announce, post, log, share, started",
)
async def update_work(
    call: Call,
    title: WorkTitle,
    status: ReportedStatus,
    files_touched: TouchedFiles | None = None,
    notes: WorkNotes | None = None,
    blocked_by: Annotated[ShortNote | None, Field(description="Agent or item.")] = None,
    blocked_reason: ShortNote | None = None,
    waiting_for_signal: SignalName | None = None,
    signals: SignalNames | None = None,
    signal_details: ShortNote = "",
    token: Annotated[
        FencingTokens | None,
        Field(
            description="Fencing tokens from memory_lock_files of the locks that protect this; refused with `stale_token` if one is no longer yours."
        ),
    ] = None,
) -> WorkUpdate:
    """Tell others what you work on, or that you are blocked or done."""
    session = call.own_session
    touched = _canonical_paths(session, files_touched or [])
    if token is not None:
        await require_current_tokens(call, token, touched)
    reported = await _find_reported_work(call, title)
    before = reported.row
    work_title = before["title"] if before else title
    stored_status, notes = read_status(status, notes)
    change = WorkChange(
        work_title, stored_status, touched, notes, blocked_by, blocked_reason, waiting_for_signal
    )
    columns = change.to_columns(before)
    work_id = await store.upsert_work_item(call.tx, session, columns, call.now)
    if title != EDITS_TITLE:
        await store.show_current_work(call.tx, session, call.now)
    call.reindex(WORK_KIND, work_id, project=session.project)
    call.subject = f"{show_status(stored_status)}: {work_title}"
    call.emit(WORK_UPDATED, title=work_title, status=show_status(stored_status), files=touched)
    signal_names = list(dict.fromkeys(signals or []))
    sent_before = await _list_earlier_signals(call, waiting_for_signal)
    wait = WaitAnnouncement()
    if change.begins_wait(before, columns):
        wait = await waits.announce_wait(call, work_id, columns, signal_was_sent=bool(sent_before))
    elif stored_status != "blocked" and before and (before["blocked_by"] or before["waiting_for"]):
        await drop_notices(call.tx, session.project, "wait", subjects=[work_id])
    return WorkUpdate(
        status="updated",
        id=work_id,
        first_report=before is None,
        title=work_title if work_title != title else "",
        item=before["item"] if before else "",
        overlaps=await _record_files_and_find_overlaps(call, touched),
        signals_broadcast=signal_names,
        unblocked=await _send_signals(call, signal_names, signal_details),
        notified=list(wait.notified),
        sent_before=sent_before,
        message=wait.message or reported.message or await _remind_of_item(call, before, stored_status),
    )


async def _remind_of_item(call: Call, before: Row | None, status: WorkStatus) -> str:
    """A report does not close the backlog item of the work: its agent is told how."""
    if before is None or not before["item"] or status in OPEN_STATUSES:
        return ""
    item, session = before["item"], call.own_session
    if not await item_store.is_item_open(call.tx, session.project, item, session.agent):
        return ""
    close = f"memory_complete_backlog_item(item_id='{item}')"
    if status == "completed":
        return f"{item} is still in progress and yours: {close} closes it."
    return (
        f"{item} is still yours: memory_update_backlog_item(item_id='{item}', status='open') gives it back."
    )


@operation(
    "memory_get_active_work",
    role="readonly",
    keywords="who is doing what, status board, team activity, busy, recent work today, up to, blocked agents",
)
async def get_active_work(
    call: Call,
    project: ProjectOrAll | None = None,
    instance: Annotated[AgentName | None, Field(description="Agent.")] = None,
    since_hours: Annotated[int, Field(ge=1, le=336)] = 24,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> ActiveWork:
    """Show what everybody works on and waits for. Use it before you choose work."""
    projects = await list_asked_projects(call.tx, call.caller, project, call.project)
    return await list_active_work(call, projects, since_hours, limit, instance)


async def _find_reported_work(call: Call, title: str) -> ReportedWork:
    """Find the work of the session that a report is about, if it has begun."""
    session = call.own_session
    row = await store.find_work_item(call.tx, session, title)
    if row is not None or title == EDITS_TITLE:
        return ReportedWork(row)
    rows = await store.list_work_of_session(call.tx, session)
    items = sorted({work["item"] for work in rows if work["item"]})
    titles = await item_store.load_item_titles(call.tx, session.project, items) if items else {}
    chosen = choose_reported_work(rows, titles, title)
    if chosen is None:
        return ReportedWork(None, explain_separate_work(rows))
    return ReportedWork(await store.find_work_item(call.tx, session, chosen["title"]))


def _canonical_paths(session: agent_session.AgentSession, files: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(paths.canonicalize_path(path, session.working_directory) for path in files))


async def _record_files_and_find_overlaps(call: Call, touched: Sequence[str]) -> list[FileOverlap]:
    if not touched:
        return []
    session = call.own_session
    rows = await store.list_files_touched_nearby(call.tx, session, touched, call.now - OVERLAP_HOURS * HOUR)
    await store.record_touched_files(call.tx, session, touched, call.now)
    ignore_case = await project_ignores_case(call.tx, call.project)
    locked = await _find_files_locked_by_others(call, touched, ignore_case)
    return [*locked, *find_overlaps(touched, rows, call.project, ignore_case)][:MAX_OVERLAPS]


async def _find_files_locked_by_others(
    call: Call, touched: Sequence[str], ignore_case: bool
) -> list[FileOverlap]:
    """Find the touched files that others have locked as a whole: they may be changing them, too."""
    requests = [LockRequest.from_path(path, "exclusive", ignore_case) for path in touched]
    leases = await list_candidate_leases(call.tx, call.project, requests, ignore_case)
    others = [lease for lease in leases if lease.session != call.own_session.id and lease.region is None]
    if any(lease.agent == call.agent for lease in others):
        dormant = {earlier.id for earlier in await list_dormant_sessions(call.tx, call.own_session, call.now)}
        others = [lease for lease in others if lease.session not in dormant]
    if not others:
        return []
    moment = LeaseMoment(await call.tx.clock(), call.now)
    return [
        FileOverlap(
            file=request.file,
            agent=lease.agent,
            project=call.project,
            when=moment.show_time(lease.granted_at),
            how="locked by them",
        )
        for request in requests
        for lease in others
        if lease.mode == "exclusive" and lease.blocks_others(moment.lease) and request.conflicts_with(lease)
    ]


async def _send_signals(call: Call, names: Sequence[str], details: str) -> list[str] | None:
    if not names:
        return None
    session = call.own_session
    await store.insert_signals(call.tx, session, names, details, call.now)
    for name in names:
        call.emit(SIGNAL_SENT, name=name, details=details)
    causes = {name: f"Signal {name} from {call.agent}" for name in names}
    return await waits.end_waits(call, session.project, causes, details)


async def _list_earlier_signals(call: Call, name: str | None) -> list[WorkSignal]:
    """Return a signal that was sent before the caller began to wait for it."""
    if name is None:
        return []
    since = call.now - OVERLAP_HOURS * HOUR
    return [
        WorkSignal.from_row(row)
        for row in await store.list_signals(call.tx, call.project, since, 1, name=name)
    ]
