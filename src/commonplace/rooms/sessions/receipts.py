"""The handoff that the server writes for a session that ended without one: what it recorded, and the transcript.

A transcript that arrives after the end is added by `rooms/archives/handoff_notes.py`.
"""

from collections.abc import Sequence

from commonplace.identity.session import AgentSession
from commonplace.rooms.backlog import store as backlog
from commonplace.rooms.sessions import store
from commonplace.rooms.work import store as work
from commonplace.rooms.work.model import describe_wait
from commonplace.store.database import Row, Tx
from commonplace.transcripts.archive.notes import have_edits, replace_transcript_notes

_MAX_LISTED = 30
_TITLE_LABELS = ("Task: ", "Files changed: ", "Claimed", "Last prompt: ")
FIRST_LINE = "Written by the server, because the session ended without a handoff."


async def compose_handoff(tx: Tx, session: AgentSession, files: Sequence[str]) -> str:
    """Compose the text; empty if the session left nothing open and changed no file."""
    receipts = await _compose_receipts(tx, session, files)
    notes = await store.load_transcript_notes(tx, session)
    if not notes or not (receipts or have_edits(notes)):
        return receipts
    return replace_transcript_notes(receipts or FIRST_LINE, notes)


def title_handoff(text: str) -> str:
    """The line that says best what was left, because every such handoff begins with the same one."""
    lines = [line for line in text.splitlines()[1:] if line]
    told = (line for label in _TITLE_LABELS for line in lines if line.startswith(label))
    return f"Left without a handoff. {next(told, lines[0] if lines else '')}".strip()


async def _compose_receipts(tx: Tx, session: AgentSession, files: Sequence[str]) -> str:
    touched = [*dict.fromkeys([*files, *await work.list_touched_paths(tx, session, _MAX_LISTED)])]
    open_work = await work.list_open_work_of_session(tx, session, _MAX_LISTED)
    claims = [
        f"{row['id']} {row['title']}"
        for project, items in (await backlog.list_claimed_ids(tx, session.project, session.id)).items()
        for row in await backlog.list_claimed_items(tx, project, items, session.id)
    ]
    if not touched and not open_work and not claims:
        return ""
    task = await store.load_task(tx, session)
    lines = [
        FIRST_LINE,
        f"Task: {task}" if task else "",
        *(_format_work(row) for row in open_work),
        f"Files changed: {', '.join(touched[:_MAX_LISTED])}" if touched else "",
        f"Claimed and not completed: {'; '.join(claims[:_MAX_LISTED])}" if claims else "",
    ]
    return "\n".join(line for line in lines if line)


def _format_work(row: Row) -> str:
    state = "Blocked" if row["status"] == "blocked" else "In progress"
    details = "; ".join(part for part in (describe_wait(row), row["notes"]) if part)
    return f"{state}: {row['title']}" + (f" ({details})" if details else "")
