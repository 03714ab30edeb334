"""Archives: transcripts of sessions, byte for byte as they came in, one for each session of a workspace."""

from commonplace.rooms.archives.operations import read_session, search_sessions, upload_session
from commonplace.rooms.archives.restudy import study_again
from commonplace.rooms.archives.retention import remove_orphans
from commonplace.rooms.archives.search import SOURCE

TOOLSET = "workspaces"
OPERATIONS = (read_session, upload_session, search_sessions)
SHOWS = ("list_sessions",)
CHORES = (remove_orphans, study_again)
SEARCHED = (SOURCE,)
