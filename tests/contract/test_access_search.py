"""Who finds what: every kind of item x every kind of caller, with keys, by search and by id.

Generated from the search sources of the catalogue: a kind that nobody makes here fails.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from commonplace import errors
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.rooms.messages.model import ALL_AGENTS
from commonplace.store.database import Database
from team import Agent, HandClock, Team

WORD = "walrus"
SHOP = frozenset({"shop"})
MADE_ELSEWHERE = {
    "session": "tests/rooms/test_search_sessions.py",
    "prompt": "tests/rooms/test_search_sessions.py",
    "knowledge": "tests/rooms/test_workspaces_knowledge.py",
    "blackboard": "tests/rooms/test_visibility_matrix.py",
    "how": "tests/rooms/test_journals.py",
    "fix": "tests/rooms/test_journals.py",
}
CALLERS = {
    "sender": Caller("agent", SHOP, "key_ann", "ann"),
    "recipient": Caller("agent", SHOP, "key_ben", "ben"),
    "teammate": Caller("agent", SHOP, "key_eve", "eve"),
    "reader": Caller("readonly", SHOP, "key_rob", "rob"),
    "admin": Caller("admin", SHOP, "key_adm", "adm"),
    "owner": Caller("owner", frozenset({"*"}), "key_own", "own"),
    "namesake": Caller("agent", frozenset({"bank"}), "key_bnk", "ben"),
    "stranger": Caller("agent", frozenset({"bank"}), "key_str", "mallory"),
    "nowhere": Caller("agent", frozenset(), "key_non", "nobody"),
}
OUTSIDE = {"namesake", "stranger", "nowhere"}


@dataclass
class Shelf:
    """One item of each kind in the project shop, and one direct message from ann to ben."""

    team: Team
    items: dict[str, str]
    mail: str

    def agent(self, kind: str) -> Agent:
        return self.team.anyone(CALLERS[kind])

    def list_expected(self, kind: str) -> set[str]:
        public = set() if kind in OUTSIDE else set(self.items.values())
        return public | ({self.mail} if kind in ("sender", "recipient") else set())


@pytest.fixture
async def shelf(database: Database, clock: HandClock) -> Shelf:
    team = Team(Calls(database, CATALOGUE, Settings(auth="on"), clock), clock)
    owner = await team.agent("own", caller=CALLERS["owner"])
    ann = await team.agent("ann", caller=CALLERS["sender"])
    await team.agent("ben", caller=CALLERS["recipient"])
    items = {
        "document": (await ann.record_learning(topic="Cart", content=f"Beware of the {WORD}."))["id"],
        "spec": (await ann.define_spec(name="cart", content=f"The {WORD} API."))["id"],
        "backlog": (await ann.add_backlog_item(title=f"Feed the {WORD}"))["id"],
        "work": (await ann.update_work(title=f"Feeding the {WORD}", status="in_progress"))["id"],
        "checklist": (await ann.checklist(action="create", name="release", items=[WORD]))["id"],
        "guideline": (await owner.guidelines(action="set", name="m", rule=f"Mind the {WORD}.", scope="shop"))[
            "id"
        ],
        "function": (await ann.register_function(name="feed", file_path="a.py", purpose=f"Feed the {WORD}."))[
            "id"
        ],
        "message": (await ann.send_message(to_instance=ALL_AGENTS, message=f"A {WORD}, everyone!"))[
            "message_id"
        ],
        "request": (await ann.ask_person(question=f"Feed the {WORD}?", wait_seconds=0))["request_id"],
    }
    mail = (await ann.send_message(to_instance="ben", message=f"Our {WORD}, ben."))["message_id"]
    return Shelf(team, items, mail)


def test_every_kind_that_can_be_searched_is_made_here_or_elsewhere():
    made = {"document", "spec", "backlog", "work", "checklist", "guideline", "function", "message", "request"}
    assert {source.kind for source in CATALOGUE.search_sources} == made | MADE_ELSEWHERE.keys()


def list_ids(answer: dict[str, Any]) -> set[str]:
    return {result["id"] for result in answer["results"]}


@pytest.mark.parametrize("kind", CALLERS)
async def test_search_shows_what_the_caller_may_read_and_counts_nothing_else(shelf: Shelf, kind: str):
    agent, expected = shelf.agent(kind), shelf.list_expected(kind)
    everywhere = await agent.search_global(query=WORD, limit=50)
    assert (list_ids(everywhere), everywhere.get("omitted", 0)) == (expected, 0)
    if kind in OUTSIDE:
        with pytest.raises(errors.Forbidden):
            await agent.query(query=WORD, project="shop")
        return
    found = await agent.query(query=WORD, project="shop", limit=50, max_tokens=20_000)
    assert (list_ids(found), found.get("omitted", 0)) == (expected, 0)


@pytest.mark.parametrize("kind", CALLERS)
async def test_get_by_id_opens_what_the_caller_may_read(shelf: Shelf, kind: str):
    agent, opened = shelf.agent(kind), set()
    for item in (*shelf.items.values(), shelf.mail):
        try:
            answer = await agent.get_by_id(id=item, project="shop")
        except errors.Forbidden:
            continue
        opened |= {answer["id"]} if answer["found"] else set()
    # An admin opens mail by its id, as in memory_get_messages(for_instance=...), but does not find it.
    may_open_mail = kind in ("admin", "owner")
    assert opened == shelf.list_expected(kind) | ({shelf.mail} if may_open_mail else set())
