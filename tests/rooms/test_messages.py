"""Mail: each recipient gets every message once, urgent first, and nothing is lost on the way."""

import asyncio
from dataclasses import replace

import pytest

from commonplace import access, errors, events
from commonplace.clock import iso
from commonplace.server import delete_old_rows
from patience import PATIENCE_SECONDS


async def _start_agents(team, *names: str, project: str = "shop"):
    return [await team.agent(name, project) for name in names]


async def _start_admin(team, name: str, project: str = "shop"):
    agent = await team.agent(name, project)
    await team.database.write(
        lambda tx: tx.run("update agent set tier = 'admin' where project = $1 and name = $2", project, name)
    )
    return agent


def _bodies(inbox: dict) -> list[str]:
    return [mail["message"] for mail in inbox.get("messages", [])]


async def _list_events(team, project: str = "shop") -> list[events.Event]:
    return await team.database.read(lambda tx: events.list_events_after(tx, project, 0))


async def test_send_message_returns_id_recipients_and_thread(team):
    alice, _bob = await _start_agents(team, "alice", "bob")
    sent = await alice.send_message(to_instance="bob", message="The cart API is ready.", subject="cart")
    assert sent == {
        "status": "queued",
        "message_id": sent["message_id"],
        "to": "bob",
        "recipients": 1,
        "live_subscribers": 1,
    }
    assert sent["message_id"].startswith("msg_")
    assert len(sent["message_id"]) == len("msg_") + 12


async def test_get_messages_shows_the_whole_message_and_marks_it_delivered(team, clock):
    alice, bob = await _start_agents(team, "alice", "bob")
    sent = await alice.send_message(
        to_agent="bob",
        body="May I?",
        subject="merge",
        category="question",
        priority="low",
        require_human=True,
    )
    assert await bob.get_messages() == {
        "count": 1,
        "unread": 0,
        "messages": [
            {
                "id": sent["message_id"],
                "from": "alice",
                "category": "question",
                "priority": "low",
                "status": "delivered",
                "created": iso(clock.now),
                "age": "just now",
                "subject": "merge",
                "message": "May I?",
                "require_human": True,
            }
        ],
    }
    assert await bob.get_messages() == {"messages": [], "count": 0, "unread": 0}
    assert _bodies(await bob.get_messages(include_delivered=True)) == ["May I?"]


async def test_get_messages_headers_only_leaves_the_mail_unread(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    await alice.send_message(to_instance="bob", message="secret", subject="cart")
    headers = await bob.get_messages(headers_only=True)
    assert (headers["count"], headers["unread"]) == (1, 1)
    assert headers["messages"][0]["status"] == "pending"
    assert "message" not in headers["messages"][0]
    assert _bodies(await bob.get_messages()) == ["secret"]


async def test_get_messages_gives_urgent_first_then_oldest(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    for priority, text in (("low", "1"), ("normal", "2"), ("urgent", "3"), ("normal", "4"), ("urgent", "5")):
        await alice.send_message(to_instance="bob", message=text, priority=priority)
    assert _bodies(await bob.get_messages()) == ["3", "5", "2", "4", "1"]


async def test_get_messages_never_cuts_urgent_mail_behind_low(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    for n in range(30):
        await alice.send_message(to_instance="bob", message=f"low {n}", priority="low")
    await alice.send_message(to_instance="bob", message="fire", priority="urgent")
    assert _bodies(await bob.get_messages(limit=1)) == ["fire"]


async def test_get_messages_pages_without_gaps_or_repeats_while_mail_arrives(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    for n in range(7):
        await alice.send_message(to_instance="bob", message=f"{n}")
    seen, cursor = [], None
    for _ in range(4):
        page = await bob.get_messages(
            limit=2, include_delivered=True, **({"cursor": cursor} if cursor else {})
        )
        seen += _bodies(page)
        cursor = page.get("next_cursor")
        await alice.send_message(to_instance="bob", message=f"urgent after {len(seen)}", priority="urgent")
    assert seen == [f"{n}" for n in range(7)]
    assert cursor is None
    assert _bodies(await bob.get_messages()) == [f"urgent after {n}" for n in (2, 4, 6, 7)]


async def test_get_messages_refuses_a_foreign_cursor(team):
    (bob,) = await _start_agents(team, "bob")
    for cursor in ("x", "1", "1.x", "9" * 30 + ".1"):
        with pytest.raises(errors.Invalid):
            await bob.get_messages(cursor=cursor)


async def test_get_messages_splits_what_is_too_long_for_one_reply(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    for n in range(3):
        await alice.send_message(to_instance="bob", message=f"{n}" + "x" * 45_000)
    first = await bob.get_messages()
    assert (first["count"], first["unread"]) == (2, 1)
    second = await bob.get_messages(cursor=first["next_cursor"])
    assert (second["count"], second["unread"], "next_cursor" in second) == (1, 0, False)


async def test_get_messages_filters_by_category_thread_and_id(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    task = await alice.send_message(to_instance="bob", message="do it", category="task")
    await alice.send_message(to_instance="bob", message="by the way")
    follow = await alice.send_message(to_instance="bob", message="and this", reply_to=task["message_id"])
    assert _bodies(await bob.get_messages(category="task", headers_only=False)) == ["do it"]
    in_thread = await bob.get_messages(thread_id=task["message_id"], include_delivered=True)
    assert _bodies(in_thread) == ["do it", "and this"]
    assert _bodies(
        await bob.get_messages(thread_id=task["message_id"][:12], include_delivered=True)
    ) == _bodies(in_thread)
    assert (await bob.get_messages(thread_id="msg_", include_delivered=True))["count"] == 0
    again = await bob.get_messages(message_id=follow["message_id"][:10])
    assert _bodies(again) == ["and this"]
    assert again["messages"][0]["reply_to"] == task["message_id"]


async def test_get_messages_refuses_the_id_of_a_message_to_another(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    sent = await alice.send_message(to_instance="bob", message="for bob")
    with pytest.raises(errors.NotFound):
        await carol.get_messages(message_id=sent["message_id"])
    with pytest.raises(errors.NotFound):
        await bob.get_messages(message_id="msg_000000000000")


async def test_acknowledge_message_refuses_an_ambiguous_beginning_of_an_id(team):
    alice, bob = await _start_agents(team, "alice", "bob")

    async def set_ambiguous_ids(tx):
        for n in range(2):
            await tx.run(
                "update message set id = $1 where project = 'shop' and body = $2",
                f"msg_aaaaaaaa{n}000",
                f"{n}",
            )

    for n in range(2):
        await alice.send_message(to_instance="bob", message=f"{n}")
    await team.database.write(set_ambiguous_ids)
    with pytest.raises(errors.Conflict) as refused:
        await bob.acknowledge_message(message_id="msg_aaaaaaaa")
    assert refused.value.details == {"candidates": ["msg_aaaaaaaa0000", "msg_aaaaaaaa1000"]}
    with pytest.raises(errors.NotFound):
        await bob.acknowledge_message(message_id="msg_aaa")


async def test_send_message_without_a_roster_reaches_an_agent_that_starts_later(team):
    alice = await team.agent("alice")
    await alice.send_message(to_instance="backend", message="welcome", to_project="Web Shop")
    backend = await team.agent("backend", "web-shop")
    assert backend.started["messages"]["unread"] == 1
    assert _bodies(await backend.get_messages()) == ["welcome"]


async def test_send_message_refuses_an_unknown_recipient_with_close_start_agents(team):
    alice, *_ = await _start_agents(team, "alice", "backend", "backend2", "backend3", "backend4", "painter")
    with pytest.raises(errors.NotFound) as refused:
        await alice.send_message(to_instance="bakend", message="hello")
    assert refused.value.details["close"][0] == "backend"
    assert len(refused.value.details["close"]) == 3


async def test_send_message_refuses_an_unknown_recipient_of_an_empty_registered_project(team):
    alice = await team.agent("alice")
    await team.database.write(
        lambda tx: tx.run(
            "insert into project (name, display_name, registered, ignore_case, created_at) values ('web', 'web', 1, 0, 0)"
        )
    )
    with pytest.raises(errors.NotFound):
        await alice.send_message(to_instance="bob", message="hello", to_project="web")


async def test_send_message_matches_a_recipient_ignoring_case(team):
    alice, bob = await _start_agents(team, "alice", "Bob")
    sent = await alice.send_message(to_instance="bOB", message="hello")
    assert sent["to"] == "Bob"
    assert _bodies(await bob.get_messages()) == ["hello"]


async def test_send_message_normalises_the_project(team):
    alice = await team.agent("alice")
    bob = await team.agent("bob", "My Web-Shop")
    sent = await alice.send_message(to_instance="bob", message="hello", to_project="my  web.SHOP")
    assert sent["to_project"] == "my_web_shop"
    mail = (await bob.get_messages())["messages"]
    assert [(message["from"], message["from_project"]) for message in mail] == [("alice", "shop")]


async def test_send_message_refuses_a_project_outside_the_key(team):
    caller = access.Caller("agent", frozenset({"shop"}), key="key_1")
    alice = await team.agent("alice", caller=caller)
    with pytest.raises(errors.Forbidden):
        await alice.send_message(to_instance="bob", message="hello", to_project="web")


async def test_send_message_to_everyone_gives_each_other_agent_a_copy_of_its_own(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    sent = await alice.send_message(to_instance="*", message="freeze")
    assert (sent["to"], sent["recipients"], sent["live_subscribers"]) == ("*", 2, 2)
    assert _bodies(await bob.get_messages()) == ["freeze"]
    await bob.acknowledge_message(message_id=sent["message_id"])
    assert _bodies(await carol.get_messages()) == ["freeze"]
    assert await alice.get_messages() == {"messages": [], "count": 0, "unread": 0}
    assert (await bob.get_messages(include_delivered=True))["messages"][0]["to"] == "*"


async def test_send_message_to_everyone_of_another_project_includes_a_namesake(team):
    alice = await team.agent("alice")
    namesake = await team.agent("alice", "web")
    assert (await alice.send_message(to_instance="*", message="hi", to_project="web"))["recipients"] == 1
    assert _bodies(await namesake.get_messages()) == ["hi"]


async def test_send_message_to_everyone_leaves_out_workers_that_are_gone(team, clock):
    alice, _gone = await _start_agents(team, "alice", "worker_1a2b")
    await team.database.write(
        lambda tx: tx.run("update agent set tier = 'worker' where project = 'shop' and name = 'worker_1a2b'")
    )
    assert (await alice.send_message(to_instance="*", message="1"))["recipients"] == 1
    clock.advance(days=2)
    assert (await alice.send_message(to_instance="*", message="2"))["recipients"] == 0


async def test_send_message_to_admins_reaches_them_alone(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    boss = await _start_admin(team, "boss")
    assert (await alice.send_message(to_instance="@admins", message="help"))["recipients"] == 1
    assert _bodies(await boss.get_messages()) == ["help"]
    assert (await bob.get_messages())["count"] == 0


async def test_send_message_warns_when_it_has_no_recipients(team):
    alice = await team.agent("alice")
    sent = await alice.send_message(to_instance="*", message="anyone?")
    assert sent["recipients"] == 0
    assert sent["warning"]


async def test_send_message_twice_within_five_minutes_is_one_message(team, clock):
    alice, bob = await _start_agents(team, "alice", "bob")
    first = await alice.send_message(to_instance="bob", message="hello")
    clock.advance(minutes=4)
    again = {**first, "duplicate": True}
    del again["live_subscribers"]
    assert await alice.send_message(to_instance="bob", message="hello") == again
    clock.advance(minutes=2)
    later = await alice.send_message(to_instance="bob", message="hello")
    assert later["message_id"] != first["message_id"]
    assert (await bob.get_messages())["count"] == 2


async def test_send_message_of_the_same_text_by_or_to_another_is_another_message(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    first = await alice.send_message(to_instance="carol", message="ok")
    sent = [
        await alice.send_message(to_instance="bob", message="ok"),
        await bob.send_message(to_instance="carol", message="ok"),
        await alice.send_message(to_instance="carol", message="ok", reply_to=first["message_id"]),
        await alice.send_message(to_instance="carol", message="ok", subject="other"),
    ]
    assert not any("duplicate" in reply for reply in sent)
    assert (await carol.get_messages())["count"] == 4


async def test_send_message_with_the_same_key_is_one_message(team, clock):
    alice, bob = await _start_agents(team, "alice", "bob")
    first = await alice.send_message(to_instance="bob", message="hello", idempotency_key="k")
    clock.advance(minutes=10)
    assert await alice.send_message(to_instance="bob", message="hello", idempotency_key="k") == first
    with pytest.raises(errors.Conflict, match="other arguments"):
        await alice.send_message(to_instance="bob", message="hello again", idempotency_key="k")
    other = await bob.send_message(to_instance="alice", message="mine", idempotency_key="k")
    assert other["message_id"] != first["message_id"]
    assert (await bob.get_messages(include_delivered=True))["count"] == 1


async def test_send_message_concurrently_with_one_key_is_one_message(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    mail = {"to_instance": "bob", "message": "hello", "idempotency_key": "k"}
    sent = await asyncio.gather(*(alice.send_message(**mail) for _ in range(10)))
    assert all(reply == sent[0] for reply in sent)
    assert (await bob.get_messages())["count"] == 1


async def test_send_message_in_reply_goes_on_with_the_thread_across_projects(team):
    alice = await team.agent("alice")
    bob = await team.agent("bob", "web")
    question = await alice.send_message(to_instance="bob", message="which port?", to_project="web")
    answer = await bob.send_message(
        to_instance="alice", message="8080", to_project="shop", in_response_to=question["message_id"]
    )
    assert (answer["thread_id"], answer["chain_depth"]) == (question["message_id"], 1)
    thanks = await alice.send_message(
        to_instance="bob", message="thanks", to_project="web", reply_to=answer["message_id"]
    )
    assert (thanks["thread_id"], thanks["chain_depth"]) == (question["message_id"], 2)


async def test_send_message_refuses_a_reply_to_an_unknown_message(team):
    alice, _bob = await _start_agents(team, "alice", "bob")
    with pytest.raises(errors.NotFound):
        await alice.send_message(to_instance="bob", message="what?", reply_to="msg_000000000000")


async def test_send_message_in_a_chain_deeper_than_twelve_is_stored_but_not_pushed(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    sent = await alice.send_message(to_instance="bob", message="0", priority="urgent")
    for depth in range(1, 14):
        sender, to = (bob, "alice") if depth % 2 else (alice, "bob")
        sent = await sender.send_message(to_instance=to, message=f"{depth}", reply_to=sent["message_id"])
        assert (sent["chain_depth"], "warning" in sent) == (depth, depth > 12)
    pushed = [event for event in await _list_events(team) if event.kind == "MessageSent"]
    assert len(pushed) == 13
    assert _bodies(await alice.get_messages())[-1] == "13"


async def test_send_message_emits_an_event_for_each_recipient_only(team):
    alice, *_ = await _start_agents(team, "alice", "bob", "carol")
    sent = await alice.send_message(to_instance="*", message="freeze", priority="low")
    told = [event for event in await _list_events(team) if event.kind == "MessageSent"]
    assert [(event.uri, event.audience, event.body) for event in told] == [
        (f"inbox://shop/{name}", f"inbox:{name}", {"id": sent["message_id"], "priority": "low"})
        for name in ("bob", "carol")
    ]


async def test_short_mail_arrives_whole_on_the_next_reply_once(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    sent = await alice.send_message(to_instance="bob", content="all clear\nfor now", project="shop")
    assert (await bob.list_agents())["_notice"] == [
        f'1 new message from alice: "all clear ⏎ for now" ({sent["message_id"]})'
    ]
    assert "_notice" not in await bob.list_agents()
    assert (await bob.get_messages())["count"] == 0
    [mail] = (await bob.get_messages(message_id=sent["message_id"]))["messages"]
    assert mail["status"] == "delivered"
    fire = await carol.send_message(to_instance="bob", message="fire", priority="urgent")
    long = await alice.send_message(to_instance="bob", message="where?\n" * 4, subject="Rates of\nVAT")
    (notice,) = (await bob.list_agents())["_notice"]
    assert notice == (
        f'2 new messages (1 urgent) from alice, carol: carol: "fire" ({fire["message_id"]});'
        f' alice: "Rates of VAT" ({long["message_id"]})'
    )
    assert "_notice" not in await bob.heartbeat()
    assert [mail["id"] for mail in (await bob.get_messages())["messages"]] == [long["message_id"]]


async def test_short_mail_is_given_to_one_session_of_its_agent(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    window = await team.agent("bob")
    await bob.heartbeat()
    await alice.send_message(to_instance="bob", message="all clear")
    told = [(await each.list_agents()).get("_notice", []) for each in (bob, window)]
    assert [len(lines) for lines in told] == [1, 0]


async def test_a_recipient_of_another_project_is_named_with_it(team):
    alice = await team.agent("alice")
    await team.agent("ben")
    await team.agent("carl", project="bank")
    with pytest.raises(errors.NotFound) as refused:
        await alice.send_message(to_instance="carl", message="hello")
    assert refused.value.details["to_project"] == "bank"
    sent = await alice.send_message(to_instance="carl", message="hello", to_project="bank")
    assert (sent["to_project"], "warning" in sent) == ("bank", False)


async def test_the_reply_that_carries_the_mail_has_no_notice_of_it(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    other_bob = await team.agent("bob")
    await bob.heartbeat()
    for text in ("one", "two"):
        await alice.send_message(to_instance="bob", message=text, priority="urgent")
    assert "_notice" not in await bob.get_messages(limit=1)
    assert (await other_bob.list_agents())["_notice"][0].startswith(
        '1 new message (1 urgent) from alice: "two"'
    )
    await alice.send_message(to_instance="bob", message="three")
    assert "_notice" not in await bob.get_messages(headers_only=True)
    assert "_notice" not in await bob.heartbeat()


async def test_a_notice_of_mail_names_a_few_senders_and_messages(team):
    senders = [f"agent{number}" for number in range(7)]
    bob, *others = await _start_agents(team, "bob", *senders)
    for sender in others:
        await sender.send_message(to_instance="bob", message="hello")
        await sender.send_message(to_instance="bob", message="long " * 50)
    (notice,) = (await bob.list_agents())["_notice"]
    assert notice.startswith("14 new messages from agent0, agent1, agent2, agent3, agent4 and 2 more: ")
    assert (notice.count('"hello"') >= 5, notice.count("(msg_")) == (True, 8)
    assert notice.endswith("and 6 more (memory_get_messages)")
    assert (await bob.get_messages())["count"] == 9


async def test_a_notice_says_that_mail_answers_the_message_of_its_reader(team, clock):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    asked = await alice.send_message(to_instance="bob", message="Per line?", subject="Rounding")
    first = await bob.send_message(
        to_instance="alice", message="Per line, half to even.", reply_to=asked["message_id"]
    )
    clock.advance(seconds=1)
    await bob.send_message(to_instance="alice", message="Freeze at noon", priority="urgent")
    (notice,) = (await alice.list_agents())["_notice"]
    assert notice.startswith(
        '2 new messages (1 urgent) from bob: "Re: Rounding: Per line, half to even." (msg_'
    )
    assert ", answers yours);" in notice
    await bob.get_messages()
    await alice.send_message(to_instance="bob", message="Thanks.", reply_to=first["message_id"])
    await alice.send_message(to_instance="carol", message="See above.", reply_to=first["message_id"])
    (notice,) = (await bob.list_agents())["_notice"]
    assert notice.startswith('1 new message from alice: "Re: Rounding: Thanks."')
    (notice,) = (await carol.list_agents())["_notice"]
    assert notice.startswith('1 new message from alice: "See above."')


async def test_send_message_names_the_recipients_that_are_offline(team):
    alice, bob, _carol = await _start_agents(team, "alice", "bob", "carol")
    await bob.end_session(summary="done")
    assert (await alice.send_message(to_instance="bob", message="hello"))["offline"] == ["bob"]
    assert "offline" not in await alice.send_message(to_instance="carol", message="hello")
    back = await team.agent("bob")
    assert _bodies(await back.get_messages()) == ["hello"]
    assert "offline" not in await alice.send_message(to_instance="bob", message="welcome")


async def test_send_message_counts_only_sessions_active_in_the_last_five_minutes(team, clock):
    alice, _bob = await _start_agents(team, "alice", "bob")
    clock.advance(minutes=6)
    await team.agent("bob")
    assert (await alice.send_message(to_instance="bob", message="hello"))["live_subscribers"] == 1


async def test_get_messages_waits_until_mail_arrives(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    waiting = asyncio.create_task(bob.get_messages(wait_seconds=50))
    async with asyncio.timeout(PATIENCE_SECONDS):
        done, _ = await asyncio.wait({waiting}, timeout=0.2)
        assert not done
        await alice.send_message(to_instance="bob", message="hello")
        assert _bodies(await waiting) == ["hello"]


async def test_get_messages_waits_no_longer_than_asked(team):
    (bob,) = await _start_agents(team, "bob")
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await bob.get_messages(wait_seconds=1) == {
            "messages": [],
            "count": 0,
            "unread": 0,
            "message": "Nothing new in 1 s.",
        }


async def test_get_messages_by_two_sessions_of_one_agent_gives_each_message_to_one(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    twin = await team.agent("bob")
    for n in range(40):
        await alice.send_message(to_instance="bob", message=f"{n}")
    pages = await asyncio.gather(*(reader.get_messages(limit=10) for reader in (bob, twin) * 6))
    # Those who ask at the same moment may all look at the same ten; what is left is still there.
    pages.append(await twin.get_messages(limit=100))
    got = [text for page in pages for text in _bodies(page)]
    assert sorted(got, key=int) == [f"{n}" for n in range(40)]


async def test_get_messages_for_another_needs_an_admin_and_leaves_no_mark(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    boss = await _start_admin(team, "boss")
    await alice.send_message(to_instance="bob", message="hello")
    with pytest.raises(errors.Forbidden):
        await carol.get_messages(for_instance="bob")
    seen = await boss.get_messages(for_instance="bob")
    assert (_bodies(seen), seen["unread"], seen["messages"][0]["status"]) == (["hello"], 1, "pending")
    assert _bodies(await bob.get_messages(for_instance="bob")) == ["hello"]


@pytest.mark.parametrize(
    ("role", "bound", "allowed"), [("admin", None, True), ("agent", None, False), ("agent", "boss", True)]
)
async def test_get_messages_for_another_believes_keys_not_start_agents(team, role, bound, allowed):
    await _start_admin(team, "boss")
    await _start_agents(team, "bob")
    caller = access.Caller(role, frozenset({"shop"}), key="key_1", agent=bound)
    boss = await team.agent("boss", caller=caller)
    if allowed:
        assert (await boss.get_messages(for_instance="bob"))["count"] == 0
    else:
        with pytest.raises(errors.Forbidden):
            await boss.get_messages(for_instance="bob")


async def test_send_message_refuses_a_readonly_key(team):
    caller = access.Caller("readonly", frozenset({"shop"}), key="key_1")
    reader = await team.agent("reader", caller=caller)
    with pytest.raises(errors.Forbidden):
        await reader.send_message(to_instance="*", message="hello")


async def test_acknowledge_message_marks_it_received_for_one_reader(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    sent = await alice.send_message(to_instance="*", message="freeze")
    assert await bob.acknowledge_message(message_id=sent["message_id"]) == {
        "status": "received",
        "message_id": sent["message_id"],
    }
    assert (await bob.acknowledge_message(message_id=sent["message_id"][:12]))["status"] == "received"
    assert (await bob.get_messages(include_delivered=True))["messages"][0]["status"] == "received"
    assert (await carol.get_messages(headers_only=True))["messages"][0]["status"] == "pending"


async def test_update_message_status_goes_forward_only_and_fails_from_anywhere(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    sent = await alice.send_message(to_instance="bob", message="do it")
    change = {"message_id": sent["message_id"]}
    await bob.update_message_status(**change, status="completed", note="done")
    for backward in ("pending", "delivered", "received"):
        with pytest.raises(errors.Conflict) as refused:
            await bob.update_message_status(**change, status=backward)
        assert refused.value.details == {"current": "completed"}
    assert (await bob.update_message_status(**change, status="failed"))["status"] == "failed"
    with pytest.raises(errors.Conflict):
        await bob.update_message_status(**change, status="completed")


async def test_update_message_status_is_refused_to_those_who_did_not_get_it(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    boss = await _start_admin(team, "boss")
    sent = await alice.send_message(to_instance="bob", message="do it")
    for other in (alice, carol):
        with pytest.raises(errors.Forbidden):
            await other.update_message_status(message_id=sent["message_id"], status="completed")
        with pytest.raises(errors.Forbidden):
            await other.acknowledge_message(message_id=sent["message_id"])
    await boss.update_message_status(message_id=sent["message_id"], status="failed", note="cancelled")
    assert (await bob.get_messages(include_delivered=True))["messages"][0]["status"] == "failed"


async def test_claim_message_is_won_by_one_recipient(team):
    alice, *others = await _start_agents(team, "alice", "bob", "carol", "dora", "emil")
    sent = await alice.send_message(to_instance="*", message="who takes it?")
    claims = await asyncio.gather(*(agent.claim_message(message_id=sent["message_id"]) for agent in others))
    assert sum(claim["claimed"] for claim in claims) == 1
    assert len({claim["owner"] for claim in claims}) == 1
    winner = next(agent for agent, claim in zip(others, claims, strict=True) if claim["claimed"])
    assert await winner.claim_message(message_id=sent["message_id"]) == claims[others.index(winner)]
    mail = (await winner.get_messages(include_delivered=True))["messages"][0]
    assert (mail["status"], mail["claimed_by"]) == ("received", claims[0]["owner"])
    with pytest.raises(errors.Forbidden):
        await alice.claim_message(message_id=sent["message_id"])


async def test_start_session_shows_what_waits_urgent_first(team):
    alice, _bob = await _start_agents(team, "alice", "bob")
    assert alice.started["messages"] == {"unread": 0, "urgent": 0}
    for n in range(6):
        await alice.send_message(to_instance="bob", message=f"{n} " + "long " * 100, priority="normal")
    fire = await alice.send_message(to_instance="bob", message="fire in the kitchen", priority="urgent")
    waiting = (await team.agent("bob")).started["messages"]
    assert (waiting["unread"], waiting["urgent"], len(waiting["top"])) == (7, 1, 5)
    assert waiting["top"][0] == {
        "id": fire["message_id"],
        "from": "alice",
        "subject": "fire in the kitchen",
        "priority": "urgent",
        "category": "info",
        "age": "just now",
    }
    assert len(waiting["top"][1]["subject"]) <= 100


async def test_retention_deletes_finished_mail_and_never_unread_mail(team, clock):
    alice, bob = await _start_agents(team, "alice", "bob")
    finished = await alice.send_message(to_instance="bob", message="finished")
    await bob.update_message_status(message_id=finished["message_id"], status="completed")
    await alice.send_message(to_instance="bob", message="unread")
    clock.advance(days=20)
    await delete_old_rows(team.calls)
    assert set(_bodies(await bob.get_messages(include_delivered=True))) >= {"unread"}
    assert team.calls.retention.rows.get("finished_messages") is None
    clock.advance(days=60)
    await delete_old_rows(team.calls)
    assert team.calls.retention.rows["finished_messages"] == 1
    assert _bodies(await bob.get_messages(include_delivered=True)) == ["unread"]
    rows = await team.database.read(lambda tx: tx.all("select body from message where project = 'shop'"))
    assert [row["body"] for row in rows] == ["unread"]


async def test_find_by_id_shows_how_far_each_recipient_is(team, clock):
    alice, bob, _carol = await _start_agents(team, "alice", "bob", "carol")
    sent = await alice.send_message(to_instance="*", message="freeze", subject="release")
    await bob.update_message_status(message_id=sent["message_id"], status="completed", note="frozen")
    assert await bob.get_by_id(doc_id=sent["message_id"][:12]) == {
        "found": True,
        "id": sent["message_id"],
        "title": "release",
        "type": "message",
        "status": "pending",
        "project": "shop",
        "tags": ["info", "normal"],
        "created": iso(clock.now),
        "updated": iso(clock.now),
        "author": "alice",
        "content": "freeze",
        "links": {
            "thread_id": sent["message_id"],
            "reply_to": "",
            "recipients": [
                {"agent": "bob", "status": "completed", "at": iso(clock.now), "note": "frozen"},
                {"agent": "carol", "status": "pending", "at": iso(clock.now), "note": ""},
            ],
        },
    }
    assert (await bob.get_by_id(doc_id="msg_000000000000"))["found"] is False


async def test_find_by_id_shows_mail_to_those_who_wrote_or_got_it(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    sent = await alice.send_message(to_instance="bob", message="between us")
    for reader in (alice, bob):
        assert (await reader.get_by_id(doc_id=sent["message_id"]))["content"] == "between us"
    assert (await carol.get_by_id(doc_id=sent["message_id"]))["found"] is False


async def test_list_inbox_shows_mail_and_leaves_it_unread(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    for text in ("one", "two"):
        await alice.send_message(to_instance="bob", message=text)
    first = await team.anyone().list_inbox(project="shop", agent="bob", limit=1)
    rest = await team.anyone().list_inbox(project="shop", agent="bob", cursor=first["next_cursor"])
    seen = [message["message"] for message in (*first["messages"], *rest["messages"])]
    assert (seen, first["unread"], first["agent"]) == (["one", "two"], 2, "bob")
    assert (await bob.get_messages())["count"] == 2
    assert (await team.anyone().list_inbox(project="shop", agent="bob"))["messages"] == []


async def test_list_inbox_is_for_the_agent_of_the_key_and_for_admins(team):
    alice = await team.agent("alice")
    await alice.send_message(to_instance="bob", message="hello")
    shop = frozenset({"shop"})
    bob = team.anyone(access.Caller("agent", shop, "key_bob", "bob"))
    assert (await bob.list_inbox(project="shop"))["count"] == 1
    for other in (access.Caller("agent", shop, "key_eve", "eve"), access.Caller("agent", shop, "key_team")):
        with pytest.raises(errors.Forbidden):
            await team.anyone(other).list_inbox(project="shop", agent="bob")
    with pytest.raises(errors.Forbidden):
        await team.anyone(access.Caller("agent", shop, "key_team")).list_inbox(project="shop")


async def test_get_messages_of_a_thread_shows_both_sides_in_order(team, clock):
    alice, bob = await _start_agents(team, "alice", "bob")
    question = await alice.send_message(to_instance="bob", message="may I?")
    clock.advance(seconds=1)
    await bob.send_message(to_instance="alice", message="no", reply_to=question["message_id"])
    clock.advance(seconds=1)
    await alice.send_message(
        to_instance="bob", message="why?", priority="urgent", reply_to=question["message_id"]
    )
    thread = await alice.get_messages(thread_id=question["message_id"])
    assert [
        (mail["from"], mail["message"], mail["status"], mail.get("to")) for mail in thread["messages"]
    ] == [
        ("alice", "may I?", "delivered", "bob"),
        ("bob", "no", "delivered", None),
        ("alice", "why?", "pending", "bob"),
    ]
    assert (thread["count"], thread["unread"]) == (3, 0)
    again = await bob.get_messages(thread_id=question["message_id"][:10])
    assert _bodies(again) == ["may I?", "no", "why?"]
    first = await bob.get_messages(thread_id=question["message_id"], limit=2)
    rest = await bob.get_messages(thread_id=question["message_id"], limit=2, cursor=first["next_cursor"])
    assert (_bodies(first), _bodies(rest), "next_cursor" in rest) == (["may I?", "no"], ["why?"], False)


async def test_get_messages_of_a_thread_shows_what_was_sent_to_another_project(team):
    alice, bob = await team.agent("alice"), await team.agent("bob", project="bank")
    question = await alice.send_message(to_instance="bob", to_project="bank", message="may I?")
    await bob.send_message(
        to_instance="alice", to_project="shop", message="yes", reply_to=question["message_id"]
    )
    for agent in (alice, bob):
        thread = await agent.get_messages(thread_id=question["message_id"])
        assert sorted(_bodies(thread)) == ["may I?", "yes"]


async def test_get_messages_of_a_thread_waits_for_an_answer_and_shows_nothing_of_others(team):
    alice, bob, carol = await _start_agents(team, "alice", "bob", "carol")
    question = await alice.send_message(to_instance="bob", message="may I?")
    waiting = asyncio.create_task(alice.get_messages(thread_id=question["message_id"], wait_seconds=50))
    await bob.send_message(to_instance="alice", message="yes", reply_to=question["message_id"])
    assert _bodies(await waiting) == ["may I?", "yes"]
    assert _bodies(await carol.get_messages(thread_id=question["message_id"])) == []


async def test_send_message_to_all_reaches_who_is_alive_or_comes_back_and_no_dead_window(team, clock):
    operator = team.anyone(access.OPERATOR)
    key = await operator.admin(action="create_key", name="dora", projects=["shop"], agent="dora")
    dora = access.Caller("agent", frozenset({"shop"}), key["id"], "dora")
    alice, bob = await _start_agents(team, "alice", "bob")
    for name in ("dora", "gone", "crashed"):
        ended = await team.agent(name, caller=dora if name == "dora" else access.LOCAL)
        if name != "crashed":
            await ended.end_session(summary="done")
    seat = team.anyone(replace(access.LOCAL, windows=("claude:1",), seat="claude@laptop"))
    assert (await seat.start_session(project="shop"))["agent"] == "claude"
    await seat.end_session(summary="done")
    clock.advance(days=2)
    await bob.heartbeat()
    sent = await alice.send_message(to_instance="*", message="freeze")
    assert (sent["recipients"], sent["not_addressed"]) == (3, 2)
    assert sent["not_addressed_names"] == ["crashed (offline)", "gone (offline)"]
    recipients = (await alice.get_by_id(doc_id=sent["message_id"]))["links"]["recipients"]
    assert [recipient["agent"] for recipient in recipients] == ["bob", "claude", "dora"]
    assert (await alice.send_message(to_instance="gone", message="you"))["recipients"] == 1


async def test_send_message_to_all_reaches_the_roster_of_a_registered_project(team):
    operator = team.anyone(access.OPERATOR)
    await operator.project(action="create", name="shop")
    await operator.project(action="add_agent", name="shop", agent="reviewer", tier="named")
    alice = await team.agent("alice")
    assert (await alice.send_message(to_instance="*", message="freeze"))["recipients"] == 1


async def test_message_to_a_name_that_was_never_here_says_so(team):
    (alice,) = await _start_agents(team, "alice")
    sent = await alice.send_message(to_instance="bob", message="hello")
    assert (sent["offline"], sent["warning"]) == (
        ["bob"],
        "No agent 'bob' has been in this project yet; one that starts there gets it.",
    )
    await _start_agents(team, "bob")
    assert "warning" not in await alice.send_message(to_instance="bob", message="hello again")


async def test_header_of_mail_without_a_subject_has_its_first_words(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    await alice.send_message(to_instance="bob", message="Totals are cents.\nAlways.")
    assert (await bob.get_messages(headers_only=True))["messages"][0][
        "subject"
    ] == "Totals are cents. Always."
    assert "subject" not in (await bob.get_messages())["messages"][0]


async def test_a_question_that_nobody_answered_is_shown_to_the_next_session_of_who_asked(team):
    alice, bob = await _start_agents(team, "alice", "bob")
    asked = await alice.send_message(to_instance="bob", message="May a cart be empty?", category="question")
    await alice.send_message(to_instance="bob", message="The tests pass.")
    (question,) = (await team.agent("alice")).started["awaiting_reply"]
    assert question == {
        "message_id": asked["message_id"],
        "to": "bob",
        "question": "May a cart be empty?",
        "age": "just now",
    }
    await bob.send_message(to_instance="alice", message="Yes.", reply_to=asked["message_id"])
    assert "awaiting_reply" not in (await team.agent("alice")).started
