"""Questions of agents to people as a source of the search index, with their answers.

Everyone who may read the project finds them, as `memory_list_requests` lists them. Permissions, plans and dialogs of the
agents' programs are not indexed: they concern one command of one window.
"""

from collections.abc import Mapping, Sequence

from commonplace.rooms.requests import model, store
from commonplace.search.source import SearchItem, SearchSource
from commonplace.shortening import shorten_line
from commonplace.store.database import Row, Tx

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
