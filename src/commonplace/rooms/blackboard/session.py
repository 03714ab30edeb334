"""Look up blackboard sessions and messages as one reader may see them.

A session id does not contain its project, so a small reference table (on every Citus node) maps ids to projects.
"""

from collections.abc import Collection

from commonplace import errors
from commonplace.access import ALL_PROJECTS
from commonplace.call import Call
from commonplace.identity import session as agent_session
from commonplace.project import list_all_project_names
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.reader import ALL_VISIBILITIES, BlackboardReader, Visibility
from commonplace.store.database import Row
from commonplace.store.ids import MIN_PREFIX_CHARACTERS

_ID_PREFIX = "session_"
_ID_DIGITS = 16
_ID_CHARACTERS = len(_ID_PREFIX) + _ID_DIGITS
_MAX_CANDIDATES = 20
_MAX_CACHED_PROJECTS = 50_000

# A session never changes its project, so entries stay valid; a deleted session is then not found in its project.
_project_by_session: dict[str, str] = {}


async def load_visible_session(call: Call, session_id: str) -> Row:
    """Load the session if the caller sees its project, and set the call's project to it."""
    if agent_session.is_session_id(session_id):
        raise errors.NotFound(
            "session_id is your own session from memory_start_session, not a blackboard.",
            hint="Pass it as agent_session. Find the blackboard's session_id with list_sessions, or create one"
            " with create_session.",
        )
    project, full_id = await _locate_session(call, session_id)
    row = (
        await store.load_session_row(call.tx, project, full_id) if call.caller.sees_project(project) else None
    )
    if row is None:
        raise session_not_found(session_id)
    call.project = project
    return row


async def _locate_session(call: Call, session_id: str) -> tuple[str, str]:
    project = _project_by_session.get(session_id) or await store.find_project_of_session(call.tx, session_id)
    if project is None:
        return await _resolve_id_prefix(call, session_id)
    if len(_project_by_session) >= _MAX_CACHED_PROJECTS:
        _project_by_session.clear()
    _project_by_session[session_id] = project
    return project, session_id


async def _resolve_id_prefix(call: Call, id_prefix: str) -> tuple[str, str]:
    if (
        not id_prefix.startswith(_ID_PREFIX)
        or not MIN_PREFIX_CHARACTERS <= len(id_prefix) - len(_ID_PREFIX) < _ID_DIGITS
    ):
        raise session_not_found(id_prefix)
    rows = await store.list_sessions_in_id_range(
        call.tx, id_prefix.ljust(_ID_CHARACTERS, "0"), id_prefix.ljust(_ID_CHARACTERS, "f"), _MAX_CANDIDATES
    )
    matches = [
        row for row in rows if row["id"].startswith(id_prefix) and call.caller.sees_project(row["project"])
    ]
    if not matches:
        raise session_not_found(id_prefix)
    if len(matches) > 1:
        raise errors.Conflict(
            f"'{id_prefix}' matches several sessions.",
            hint="Pass the whole session_id; see candidates.",
            candidates=[row["id"] for row in matches],
        )
    return matches[0]["project"], matches[0]["id"]


def session_not_found(session_id: str) -> errors.NotFound:
    return errors.NotFound(
        f"Blackboard session '{session_id}' does not exist.",
        hint="Find its session_id with list_sessions, or create one with create_session.",
    )


def reader_view(
    row: Row, reader: BlackboardReader, visibilities: Collection[Visibility] = ALL_VISIBILITIES
) -> store.MessageView:
    return store.MessageView(row["project"], row["id"], reader.list_audiences(visibilities))


async def describe_session(call: Call, row: Row, reader: BlackboardReader) -> model.BlackboardSession:
    """Describe the session, counting only what this reader may see."""
    message_counts = await store.count_messages_by_sender(
        call.tx, [row["project"]], [row["id"]], reader.list_audiences()
    )
    return model.BlackboardSession.from_row(
        row, message_counts[row["id"]], model.idle_cutoff(call.now, call.settings)
    )


async def load_message(call: Call, session: Row, reader: BlackboardReader, id_prefix: str) -> Row:
    first, last = model.message_id_range(id_prefix)
    candidates = await store.list_messages_in_id_range(call.tx, reader_view(session, reader), first, last)
    rows = [row for row in candidates if row["id"].startswith(id_prefix)]
    if not rows:
        raise errors.NotFound(
            f"Message '{id_prefix}' does not exist here, or you may not see it.",
            hint="List the messages that you may see with get_context(include_private=true).",
        )
    if len(rows) > 1:
        raise errors.Conflict(
            f"'{id_prefix}' matches several messages.",
            hint="Pass the whole message_id; see candidates.",
            candidates=[row["id"] for row in rows],
        )
    return rows[0]


async def list_blackboards(
    call: Call, reader: BlackboardReader, project: str | None, active_only: bool, limit: int, offset: int
) -> model.BlackboardListing:
    projects = await _list_searched_projects(call, project)
    idle_since = model.idle_cutoff(call.now, call.settings)
    total, rows = await store.list_session_rows(call.tx, projects, active_only, idle_since, limit, offset)
    page_projects = list({row["project"]: None for row in rows})
    message_counts = await store.count_messages_by_sender(
        call.tx, page_projects, [row["id"] for row in rows], reader.list_audiences()
    )
    return model.BlackboardListing(
        total=total,
        sessions=[
            model.BlackboardSession.from_row(row, message_counts[row["id"]], idle_since) for row in rows
        ],
    )


async def _list_searched_projects(call: Call, project: str | None) -> list[str]:
    if project is not None:
        return [project] if call.caller.sees_project(project) else []
    return (
        await list_all_project_names(call.tx)
        if ALL_PROJECTS in call.caller.projects
        else sorted(call.caller.projects)
    )
