"""Transcripts of sessions, stored byte for byte: one archive for each session of a workspace."""

from commonplace.room import Room
from commonplace.rooms.archives.contributes import (
    FINDERS,
    SEARCH_SOURCES,
    SESSION_ARCHIVED,
    delete_orphaned_bodies,
    renew_sessions,
)
from commonplace.rooms.archives.operations import (
    list_transcript_errors,
    list_transcripts,
    read_session,
    search_sessions,
    upload_session,
)
from commonplace.rooms.archives.scrub import find_last_backup, scrub_project
from commonplace.rooms.archives.store import HASHED_ARCHIVES, HASHED_FRAMES

ROOM = Room(
    name="archives",
    purpose=__doc__,
    toolset="workspaces",
    operations=(read_session, upload_session, search_sessions),
    program_operations=(
        list_transcripts,
        list_transcript_errors,
        scrub_project,
        find_last_backup,
    ),
    borrowed_tools=("list_sessions",),
    chores=(delete_orphaned_bodies, renew_sessions),
    finders=FINDERS,
    search_sources=SEARCH_SOURCES,
    events=(SESSION_ARCHIVED,),
    hashed_tables=(HASHED_ARCHIVES, HASHED_FRAMES),
)
