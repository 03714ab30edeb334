"""`search` and `fetch`: what ChatGPT's connectors read, without a session and never more than the caller may."""

import pytest

from commonplace import errors
from commonplace.access import Caller
from team import Team


async def learn(team: Team, project: str, details: str) -> str:
    agent = await team.agent("ann", project)
    return (await agent.record_learning(title=f"Pool of {project}", details=details))["id"]


async def test_search_and_fetch_need_no_session_and_read_only_projects_of_the_caller(team: Team):
    shop = await learn(team, "shop", "The pool closes idle connections after a minute.")
    bank = await learn(team, "bank", "The pool closes idle connections of the bank after a day.")
    reader = team.anyone(Caller("readonly", frozenset({"shop"}), "key_1"))
    found = await reader.call("search", query="when are idle connections closed")
    assert [result["id"] for result in found["results"]] == [f"shop/{shop}"]
    opened = await reader.call("fetch", id=f"shop/{shop}")
    assert (opened["title"], opened["metadata"]["project"]) == ("Pool of shop", "shop")
    for hidden in (f"bank/{bank}", f"shop/{bank}", "shop/doc_000000000000", "nothing"):
        with pytest.raises(errors.NotFound):
            await reader.call("fetch", id=hidden)


async def test_fetch_opens_what_search_found_of_every_kind(team: Team):
    ann = await team.agent("ann")
    await ann.register_function(
        name="parse_price", file="cart.py", purpose="Parses a price from text.", gotchas="none"
    )
    await ann.add_backlog_item(title="Parse a price with a currency sign")
    await ann.define_spec(name="price format", content="A price is parsed as digits and a currency.")
    reader = team.anyone(Caller("readonly", frozenset({"shop"}), "key_1"))
    found = await reader.call("search", query="parse a price")
    kinds = {result["id"].partition("/")[2].partition("_")[0] for result in found["results"]}
    assert kinds == {"func", "backlog", "spec"}
    for result in found["results"]:
        opened = await reader.call("fetch", id=result["id"])
        assert (opened["id"], opened["url"]) == (result["id"], result["url"])


async def test_search_that_finds_nothing_returns_an_empty_list(team: Team):
    reader = team.anyone(Caller("readonly", frozenset({"shop"}), "key_1"))
    assert await reader.call("search", query="anything") == {"results": []}


async def test_fetch_does_not_open_mail_of_others(team: Team):
    ann = await team.agent("ann")
    await team.agent("ben")
    sent = await ann.send_message(to_instance="ben", message="for ben alone")
    reader = team.anyone(Caller("readonly", frozenset({"shop"}), "key_1"))
    with pytest.raises(errors.NotFound):
        await reader.call("fetch", id=f"shop/{sent['message_id']}")
