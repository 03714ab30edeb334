"""Keep what a transcript shows with its session, for the handoff that the server writes if the session leaves none.

If it has written that handoff already, because the transcript arrived after the end, the handoff is completed.
"""

import asyncio

from commonplace.call import Call
from commonplace.rooms.archives import study_store
from commonplace.rooms.knowledge import store as documents
from commonplace.rooms.knowledge.drafts import CleanText, clean_text
from commonplace.rooms.sessions import handoff_store
from commonplace.rooms.sessions import store as sessions
from commonplace.transcripts.archive.frames import ArchivedSession
from commonplace.transcripts.archive.notes import compose_transcript_notes, replace_transcript_notes
from commonplace.transcripts.archive.study import StudyResult


async def prepare_notes(result: StudyResult | None) -> CleanText | None:
    """The notes of the transcript so far; None if it was not studied."""
    summary = result.summary if result else None
    if summary is None:
        return None
    return await asyncio.to_thread(lambda: clean_text(compose_transcript_notes(summary)))


async def add_transcript_notes(call: Call, archive: ArchivedSession, notes: CleanText | None) -> None:
    """Save the notes; add them to the open handoff that the server wrote for the transcript's session, if there is one."""
    session = await study_store.load_agent_session(call.tx, archive) if notes and notes.text else ""
    if not session or notes is None:
        return
    await sessions.update_transcript_notes(call.tx, archive.project, session, notes.text)
    handoff = await handoff_store.find_automatic_handoff(call.tx, archive.project, session)
    document = await documents.load_document(call.tx, archive.project, handoff) if handoff else None
    if document is None or document["status"] != "active":
        return
    content = replace_transcript_notes(document["content"], notes.text)
    if content == document["content"]:
        return
    flags = dict.fromkeys((*documents.decode_texts(document["flags"]), *notes.flags))
    await documents.update_document_content(
        call.tx,
        document,
        document["author"],
        call.now,
        content=content,
        flags=documents.encode_texts(list(flags)),
    )
