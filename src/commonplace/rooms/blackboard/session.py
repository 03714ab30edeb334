"""A session: where it is, and how a reader sees it.

An id alone says nothing about its project, so a small table that every node has does.
"""

from collections.abc import Collection

from commonplace import errors
from commonplace.call import Call
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.reader import EVERYTHING, Reader, Visibility
from commonplace.store.database import Row
from commonplace.store.ids import SHORTEST

_PREFIX = "session_"
_DIGITS = 16
_LENGTH = len(_PREFIX) + _DIGITS
_CANDIDATES = 20
_REMEMBERED = 50_000

# A session never moves, so what was once read stays true; a session that is gone is not found in its project.
_known: dict[str, str] = {}


async def locate(call: Call, session_id: str) -> Row:
    """The session, if the caller sees its project; the call then belongs to that project."""
    project, found = await _place(call, session_id)
    row = await store.session(call.tx, project, found) if call.caller.sees(project) else None
    if row is None:
        raise _unknown(session_id)
    call.project = project
    return row


async def _place(call: Call, given: str) -> tuple[str, str]:
    project = _known.get(given) or await store.place(call.tx, given)
    if project is None:
        return await _beginning(call, given)
    if len(_known) >= _REMEMBERED:
        _known.clear()
    _known[given] = project
    return project, given


async def _beginning(call: Call, given: str) -> tuple[str, str]:
    if not given.startswith(_PREFIX) or not SHORTEST <= len(given) - len(_PREFIX) < _DIGITS:
        raise _unknown(given)
    rows = await store.places(call.tx, given.ljust(_LENGTH, "0"), given.ljust(_LENGTH, "f"), _CANDIDATES)
    seen = [row for row in rows if row["id"].startswith(given) and call.caller.sees(row["project"])]
    if not seen:
        raise _unknown(given)
    if len(seen) > 1:
        raise errors.Conflict(
            f"'{given}' is the beginning of several sessions.",
            hint="Give more of it.",
            candidates=[row["id"] for row in seen],
        )
    return seen[0]["project"], seen[0]["id"]


def _unknown(given: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no context session '{given}'.", hint="create_session makes one; list_sessions shows them."
    )


def uri(session_id: str) -> str:
    return f"session://{session_id}"


def view_of(row: Row, reader: Reader, wanted: Collection[Visibility] = EVERYTHING) -> store.View:
    return store.View(row["project"], row["id"], reader.audiences(wanted))


async def described(call: Call, row: Row, reader: Reader) -> model.Session:
    """The session with the counts of what this reader may see."""
    tallies = await store.tallies(call.tx, [row["project"]], [row["id"]], reader.audiences())
    return model.Session.of(row, tallies[row["id"]], model.idle_since(call.now, call.settings))
