"""Transcripts of sessions, stored byte for byte: one archive for each session of a workspace."""

from commonplace.room import Room
from commonplace.rooms.archives.events import SESSION_ARCHIVED
from commonplace.rooms.archives.finders import FINDERS
from commonplace.rooms.archives.hashed_rows import HASHED_ARCHIVES, HASHED_FRAMES
from commonplace.rooms.archives.mask_stored import mask_stored_sessions
from commonplace.rooms.archives.operations import read_session, search_sessions, upload_session
from commonplace.rooms.archives.restudy import restudy_sessions
from commonplace.rooms.archives.retention import delete_orphaned_bodies
from commonplace.rooms.archives.scrub import find_last_backup, scrub_project
from commonplace.rooms.archives.search import SEARCH_SOURCES
from commonplace.rooms.archives.token_use import list_token_use
from commonplace.rooms.archives.transcripts import list_transcript_errors, list_transcripts

ROOM = Room(
    name="archives",
    purpose=__doc__,
    toolset="workspaces",
    operations=(read_session, upload_session, search_sessions),
    program_operations=(
        list_transcripts,
        list_transcript_errors,
        list_token_use,
        scrub_project,
        find_last_backup,
    ),
    borrowed_tools=("list_sessions",),
    chores=(delete_orphaned_bodies, mask_stored_sessions, restudy_sessions),
    finders=FINDERS,
    search_sources=SEARCH_SOURCES,
    events=(SESSION_ARCHIVED,),
    hashed_tables=(HASHED_ARCHIVES, HASHED_FRAMES),
)
