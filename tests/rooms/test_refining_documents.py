"""A document is the later one of another if its text says that it refines it; a mention is only a reference."""

import pytest

from commonplace.rooms.knowledge.refining_words import says_refines, says_replaces

_ID = "doc_6ebf8b0909ea"


@pytest.mark.parametrize(
    "text",
    [
        "Refines {}: the cut-off is in UTC.",
        "Continues {}.",
        "This decision corrects the cut-off time of {}.",
        'Amends "Dispatch days" ({}).',
        "Changes {}: Saturday counts, too.",
        "Supersedes:\n- {}",
        "Orders leave at noon instead of the time in {}.",
        "Builds on {}: rounded half up.",
        "The rule of {} is corrected here.",
        "A correction of {}: Saturday counts.",
    ],
)
def test_a_text_says_that_it_refines(text):
    assert says_refines(text.format(_ID), _ID)


@pytest.mark.parametrize(
    "text",
    [
        "Vouchers: see {}.",
        "Orders are replaced at once. Vouchers: see {}.",
        "Replaces the old table (see {}).",
        "The cut-off is noon, as in {}.",
        "Prices changed per {}.",
        "This changes only the label; {} holds.",
        "For changed orders {} still applies.",
        "Orders changed after payment follow {}.",
        "Price changes are listed in {}.",
        "This does not replace {}.",
        "It changes nothing in {}.",
        "Superseded by {}.",
        "Refined by {}, which names the time zone.",
        "Changes\n\nVouchers follow {}.",
    ],
)
def test_a_text_only_mentions(text):
    assert not says_refines(text.format(_ID), _ID)


def test_a_text_that_refines_one_document_only_mentions_the_other():
    other = "doc_0123456789ab"
    text = f"Refines {other}: the cut-off is in UTC. Vouchers: see {_ID}."
    assert (says_refines(text, other), says_refines(text, _ID)) == (True, False)


def test_only_words_of_replacement_say_that_a_text_replaces():
    assert says_replaces(f"Replaces {_ID}.", _ID)
    assert not says_replaces(f"Refines {_ID}.", _ID)


async def _decide(agent, title, content, **options):
    return await agent.store(title=title, content=content, memory_type="adr", **options)


async def _list_later(agent, *documents):
    found = [await agent.get_by_id(doc_id=document) for document in documents]
    return [each.get("links", {}).get("later") for each in found]


async def test_a_decision_that_mentions_another_is_not_the_later_one(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    vouchers = (await _decide(alice, "Vouchers", "A voucher is valid for one order."))["id"]
    stored = await _decide(alice, "Baskets", f"A basket has up to 50 lines. Vouchers: see {vouchers}.")
    assert ("refines" in stored, "advice" in stored) == (False, False)
    assert await _list_later(alice, vouchers, stored["id"]) == [None, None]
    (notice,) = (await bob.heartbeat())["_notice"]
    assert "refines" not in notice


async def test_an_edit_that_mentions_the_later_decision_keeps_it_the_later_one(team):
    alice = await team.agent("alice")
    basket = {"title": "Baskets", "memory_type": "adr"}
    old = (await alice.store(**basket, content="A basket has up to 50 lines."))["id"]
    new = (await _decide(alice, "Vouchers", f"Refines {old}: a voucher is a line of the basket."))["id"]
    for content in (f"Up to 50 lines. Vouchers: see {new}.", f"Up to 40 lines. Replaces {new}."):
        again = await alice.store(**basket, content=content, force_store=True)
        assert (again["id"], again.get("refines")) == (old, None)
        assert await _list_later(alice, old, new) == [new, None]
    assert "derived_from" not in (await alice.get_by_id(doc_id=old))["links"]
    assert (await alice.get_by_id(doc_id=new))["links"]["derived_from"] == [old]


async def test_an_edit_makes_no_circle_of_three_decisions(team):
    alice = await team.agent("alice")
    first = {"title": "Dispatch days", "memory_type": "adr"}
    one = (await alice.store(**first, content="Orders leave from Monday to Friday."))["id"]
    two = (await _decide(alice, "Cut-off", f"Refines {one}: what arrives by noon leaves today."))["id"]
    three = (await _decide(alice, "Time zone of the cut-off", f"Refines {two}: it is that of Vienna."))["id"]
    content = f"Orders leave on working days. Continues {three}."
    await alice.store(**first, content=content, force_store=True)
    assert await _list_later(alice, one, two, three) == [three, three, None]


async def test_advice_to_retire_is_given_only_to_a_text_that_says_it_replaces(team):
    alice = await team.agent("alice")
    days = (await _decide(alice, "Dispatch days", "Orders leave from Monday to Friday."))["id"]
    zone = await _decide(alice, "Time zone of the cut-off", f"Refines {days}: the clock is that of Vienna.")
    assert (zone["refines"], "advice" in zone) == ([days], False)
    daily = await _decide(alice, "Every day", f"Replaces {days}: parcels are collected on Sundays, too.")
    assert daily["refines"] == [days]
    assert f'memory_change_status(doc_id="{days}", new_status="superseded"' in daily["advice"]


async def test_get_by_id_warns_near_the_top_of_what_refines_or_contradicts_a_document(team):
    alice = await team.agent("alice")
    days = (await _decide(alice, "Dispatch days", "Orders leave from Monday to Friday."))["id"]
    zone = (await _decide(alice, "Time zone", f"Refines {days}: the clock is that of Vienna."))["id"]
    pool = (await alice.record_learning(topic="Pool", content="The default pool size is 10 connections."))[
        "id"
    ]
    more = (await alice.record_learning(topic="More", content="The default pool size is 25 connections."))[
        "id"
    ]
    team.clock.advance(minutes=1)
    shown = await alice.get_by_id(doc_id=days)
    assert shown["warning"] == f'refined by {zone} "Time zone" (alice, 1min): read that first'
    assert list(shown).index("warning") < list(shown).index("content")
    assert shown["links"]["later"] == zone
    shown = await alice.get_by_id(doc_id=pool)
    assert shown["warning"] == f'contradicted by {more} "More" (alice, 1min): read that first'
    assert "warning" not in await alice.get_by_id(doc_id=more)
