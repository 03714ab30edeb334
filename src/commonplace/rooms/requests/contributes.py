"""What requests contribute to other parts of the server: events, a resource, a boot section, a finder, search, retention.

An answer that the agent has not read is not in the boot section: `rooms/sessions` moves its notice to the session that
starts. Questions of agents and their answers are searched by everyone who may read the project; permissions, plans and
dialogs of the agents' programs are not indexed, because they concern one command of one window."""

from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.agent_names import AgentRename
from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import DAY, format_age, iso
from commonplace.events import EventType
from commonplace.operation import Reply, operation
from commonplace.project import is_project_admin
from commonplace.resource import Resource
from commonplace.retention import Sweep, delete_from_table
from commonplace.rooms.requests import model, store
from commonplace.rooms.requests.model import RequestListing, build_request
from commonplace.search.index import remove_entries
from commonplace.search.source import SearchItem, SearchSource
from commonplace.shortening import shorten_line
from commonplace.store import ids
from commonplace.store.database import Row, Tx


@operation("resource:requests", role="readonly", session=False)
async def read_requests(call: Call, project: str) -> RequestListing:
    """The requests of a project that wait for a person, newest first."""
    rows = await store.list_waiting_requests(call.tx, [project], call.now)
    return RequestListing(count=len(rows), requests=[build_request(row, call.now) for row in rows])


REQUESTS = Resource("requests://{project}", "What waits for a person in a project", read_requests)


REQUEST_OPENED = EventType("RequestOpened", REQUESTS)
REQUEST_ANSWERED = EventType("RequestAnswered", REQUESTS)
REQUEST_CLOSED = EventType("RequestClosed", REQUESTS)


_MAX_QUESTIONS = 5


class OpenQuestion(Reply):
    request_id: str
    question: str
    age: str


async def list_open_questions(call: Call, start: StartingSession) -> list[OpenQuestion]:
    rows = await store.list_pending_questions(call.tx, start.project, start.agent)
    return [
        OpenQuestion(
            request_id=row["id"],
            question=shorten_line(
                model.decode_questions(row["questions"])[0].question, model.MAX_SHOWN_QUESTION_CHARACTERS
            ),
            age=format_age(row["created_at"], call.now),
        )
        for row in rows
        if row["state"] == "open"
    ][: start.scale_limit(_MAX_QUESTIONS)]


ASKED_SECTION = BootSection("asked_by_you", 28, list_open_questions)


async def find_request(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    if not call.caller.sees_project(project):
        return None
    match = await ids.find_ids_by_prefix(call.tx, "person_request", [project], id_prefix)
    row = await store.load_request(call.tx, *match[0]) if match else None
    if row is None or not await _may_read(call, row):
        return None
    return {
        "id": row["id"],
        "title": row["title"],
        "type": f"request: {row['kind']}",
        "status": row["state"],
        "project": project,
        "created": iso(row["created_at"]),
        "updated": iso(row["changed_at"]),
        "author": row["agent"],
        "content": model.format_questions(row),
        "answered_by": row["answered_by"],
        "resolution": model.format_answer(row) if row["state"] == "answered" else "",
    }


async def _may_read(call: Call, row: Row) -> bool:
    if row["source"] == "agent" or row["agent"] == call.agent:
        return True
    return await is_project_admin(call.tx, row["project"], call.caller, call.agent)


FINDERS = {"req_": find_request}


async def rename_asker(tx: Tx, rename: AgentRename) -> None:
    """The renamed sessions keep what they asked; an agent that takes everything with it keeps its earlier questions, too."""
    await tx.run(
        "update person_request set agent = $3 where project = $1 and agent = $2 and ($4 = 1 or session = any($5))",
        rename.project,
        rename.old,
        rename.new,
        int(rename.moves_agent),
        list(rename.sessions),
    )


REQUEST_KIND = "request"
_TITLE_CHARACTERS = 200
_OPEN_BONUS = -0.5
"""A question without an answer tells less than what holds."""


async def load_searched_questions(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows = await store.load_questions_of_agents(tx, project, ids)
    newest = model.find_newest_answers(await store.list_latest_answers(tx, project)) if rows else {}
    return [_build_search_item(row, newest) for row in rows]


def _build_search_item(row: Row, newest: Mapping[str, str]) -> SearchItem:
    is_answered = row["state"] == "answered"
    question = model.decode_questions(row["questions"])[0].question
    later = newest.get(model.normalize_question(question), row["id"])
    return SearchItem(
        id=row["id"],
        title=shorten_line(question, _TITLE_CHARACTERS),
        text=model.format_question_with_answer(row),
        type="answer" if is_answered else "question",
        status=row["state"],
        author=row["agent"],
        created_at=row["created_at"],
        updated_at=row["changed_at"],
        changed_at=row["changed_at"],
        bonus=0.0 if is_answered else _OPEN_BONUS,
        later="" if later == row["id"] else later,
    )


SEARCH_SOURCE = SearchSource(
    kind=REQUEST_KIND, load=load_searched_questions, table="person_request", names=("question", "answer")
)


async def _remove_entries(tx: Tx, batch: Sweep, rows: Sequence[Row]) -> None:
    await remove_entries(tx, batch.project, REQUEST_KIND, [row["id"] for row in rows])


OLD_REQUESTS = delete_from_table(
    "person_request",
    kind="requests",
    old="changed_at < $2 and not (source = 'agent' and state = 'answered')",
    age=30 * DAY,
    after=_remove_entries,
)
