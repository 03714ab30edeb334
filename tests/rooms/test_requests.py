"""What waits for a person: who reports it, who answers it, and that each answer counts once, for what was shown."""

import asyncio
from dataclasses import replace

import pytest

from commonplace import errors
from commonplace.access import LOCAL, OPERATOR, Caller
from commonplace.catalogue import CATALOGUE
from commonplace.rooms.admin.browser_sessions import sign_in
from commonplace.server import delete_old_rows
from patience import PATIENCE_SECONDS

EVERYWHERE = frozenset({"*"})
PAGE = Caller("owner", EVERYWHERE, agent="eve", kind="person")
ASKING_TWO = [
    {"question": "Which db?", "options": [{"label": "lite"}, {"label": "pg", "description": "a server"}]},
    {"question": "Which port?"},
]


async def _report(agent, **more):
    given = {"kind": "permission", "title": "Bash", "text": "git push", "tool": "claude", "is_awaited": True}
    return (await agent.report_request(**given | more))["request_id"]


async def _shown(team, request_id):
    listed = (await team.anyone(PAGE).list_requests(project="shop", status="all"))["requests"]
    return next(request["shown"] for request in listed if request["id"] == request_id)


async def _answer(team, request_id, caller=PAGE, **given):
    given = {"decision": "allow", "shown": await _shown(team, request_id)} | given
    return await team.anyone(caller).answer_request(project="shop", request_id=request_id, **given)


async def test_reported_request_is_listed_with_everything_that_a_person_needs(team):
    ann = await team.agent("ann", working_directory="/home/ann/shop", tmux_target="main:1")
    request_id = await _report(ann, machine="laptop", directory="/home/ann/shop")
    (need,) = (await team.anyone(PAGE).get_live_state(project="shop"))["needs_you"]
    request = need["request"]
    assert (need["kind"], need["agent"], request["id"], request["can_answer"]) == (
        "request",
        "ann",
        request_id,
        True,
    )
    assert {
        name: request[name] for name in ("title", "text", "tool", "machine", "directory", "tmux_target")
    } == {
        "title": "Bash",
        "text": "git push",
        "tool": "claude",
        "machine": "laptop",
        "directory": "/home/ann/shop",
        "tmux_target": "main:1",
    }


async def test_answer_reaches_the_hook_that_waits_and_leaves_the_list(team):
    ann = await team.agent("ann")
    request_id = await _report(ann)
    waiting = asyncio.create_task(ann.wait_for_answer(request_id=request_id, wait_seconds=50))
    await asyncio.sleep(0)
    await _answer(team, request_id, decision="deny", note="not on Fridays")
    assert await waiting == {
        "status": "answered",
        "request_id": request_id,
        "decision": "deny",
        "note": "not on Fridays",
        "answered_by": "eve",
    }
    assert (await team.anyone(PAGE).list_requests(project="shop"))["requests"] == []


async def test_second_answer_is_refused(team):
    request_id = await _report(await team.agent("ann"))
    shown = await _shown(team, request_id)
    await _answer(team, request_id)
    with pytest.raises(errors.Conflict):
        await _answer(team, request_id, shown=shown, decision="deny")


async def test_answer_to_something_else_than_was_shown_is_refused(team):
    ann = await team.agent("ann")
    request_id, other = await _report(ann), await _report(ann, text="rm -rf build")
    with pytest.raises(errors.Conflict):
        await _answer(team, request_id, shown=await _shown(team, other))


async def test_answer_is_audited_with_the_person_and_the_request(team):
    request_id = await _report(await team.agent("ann"))
    await _answer(team, request_id)
    rows = (await team.anyone(PAGE).call("memory_admin", action="audit_log"))["events"]
    (row,) = [row for row in rows if row["operation"] == "memory_answer_request"]
    assert (row["agent"], row["outcome"], row["detail"]) == (
        "eve",
        "ok",
        f"{request_id} allow: ann permission Bash",
    )


@pytest.mark.parametrize(
    ("caller", "may"),
    [
        (Caller("owner", EVERYWHERE), False),
        (Caller("owner", EVERYWHERE, agent="eve"), False),
        (Caller("owner", EVERYWHERE, agent="eve", kind="person"), True),
        (Caller("owner", EVERYWHERE, agent="operator", kind="operator"), True),
        (Caller("agent", EVERYWHERE, "key_1", "eve"), False),
        (Caller("agent", EVERYWHERE, "key_1", "eve", kind="person"), True),
        (Caller("readonly", EVERYWHERE, "key_1", "eve", kind="person"), False),
        (Caller("admin", EVERYWHERE, "key_1", "eve"), False),
        (Caller("admin", EVERYWHERE, "key_1", "eve", kind="person"), True),
        (Caller("admin", EVERYWHERE, "key_1", "eve", kind="person", session="shop_eve_1"), False),
        (Caller("admin", EVERYWHERE, "key_1", "ann", kind="person"), False),
        (Caller("admin", frozenset({"bank"}), "key_1", "eve", kind="person"), False),
    ],
)
async def test_only_people_answer(team, caller, may):
    request_id = await _report(await team.agent("ann"))
    if may:
        assert (await _answer(team, request_id, caller))["status"] == "answered"
        return
    with pytest.raises(errors.Forbidden):
        await _answer(team, request_id, caller)


async def test_key_of_a_person_is_marked(team):
    made = await team.anyone(OPERATOR).call(
        "memory_admin", action="create_key", name="eve", role="agent", projects=["shop"], person=True
    )
    assert made["person"]
    (listed,) = (await team.anyone(PAGE).call("memory_admin", action="list_keys"))["keys"]
    assert listed["person"]


async def test_answers_of_a_dialog_fit_its_questions(team):
    ann = await team.agent("ann")
    request_id = await _report(ann, kind="question", questions=ASKING_TWO)
    for wrong in ({"decision": "allow"}, {"decision": "answer", "answers": ["lite"]}):
        with pytest.raises(errors.Invalid):
            await _answer(team, request_id, **wrong)
    await _answer(team, request_id, decision="answer", answers=["lite", "5432"])
    answer = await ann.wait_for_answer(request_id=request_id)
    assert (answer["decision"], answer["answers"]) == ("answer", ["lite", "5432"])


async def test_permission_takes_no_answers(team):
    request_id = await _report(await team.agent("ann"))
    with pytest.raises(errors.Invalid):
        await _answer(team, request_id, decision="answer", answers=["yes"])


async def test_request_without_a_waiting_hook_says_where_to_answer(team):
    ann = await team.agent("ann")
    request_id = await _report(ann, is_awaited=False, tool="gemini", machine="laptop", directory="/shop")
    with pytest.raises(errors.Conflict) as refused:
        await _answer(team, request_id)
    assert refused.value.hint == "Answer in its own window: gemini laptop /shop."


async def test_request_whose_hook_went_away_takes_no_answer_any_more(team):
    ann = await team.agent("ann")
    request_id = await _report(ann)
    team.clock.advance(minutes=2)
    (request,) = (await team.anyone(PAGE).list_requests(project="shop"))["requests"]
    assert "can_answer" not in request
    await ann.wait_for_answer(request_id=request_id)
    (request,) = (await team.anyone(PAGE).list_requests(project="shop"))["requests"]
    assert request["can_answer"]


async def test_request_is_closed_when_the_program_went_on(team):
    ann = await team.agent("ann")
    request_id, of_subagent = await _report(ann), await _report(ann, subagent="sub1")
    assert await ann.close_requests(subagent="") == {"closed": 1}
    assert (await ann.wait_for_answer(request_id=request_id))["status"] == "closed"
    shown = await _shown(team, request_id)
    with pytest.raises(errors.Conflict):
        await _answer(team, request_id, shown=shown)
    listed = (await team.anyone(PAGE).list_requests(project="shop"))["requests"]
    assert [request["id"] for request in listed] == [of_subagent]


async def test_requests_of_an_ended_session_are_not_listed(team):
    ann = await team.agent("ann")
    request_id = await _report(ann)
    shown = await _shown(team, request_id)
    await ann.end_session(summary="done")
    assert (await team.anyone(PAGE).list_requests(project="shop"))["requests"] == []
    with pytest.raises(errors.Conflict):
        await _answer(team, request_id, shown=shown)


async def test_hint_of_waiting_is_ignored_where_the_request_is_known(team):
    ann = await team.agent("ann")
    await _report(ann)
    assert await ann.report_request(kind="permission", is_hint=True) == {"status": "known"}


async def test_idle_agent_is_listed_last_until_it_works_again(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await _report(ben)
    team.clock.advance(seconds=1)
    await ann.report_request(kind="idle", tool="codex")
    kinds = [need["kind"] for need in (await team.anyone(PAGE).get_live_state(project="shop"))["needs_you"]]
    assert kinds == ["request", "idle"]
    team.clock.advance(seconds=60)
    await ann.lock_files(files=["a.py"])
    kinds = [need["kind"] for need in (await team.anyone(PAGE).get_live_state(project="shop"))["needs_you"]]
    assert kinds == ["request"]


async def test_another_session_cannot_read_or_close_a_request(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    request_id = await _report(ann)
    with pytest.raises(errors.NotFound):
        await ben.wait_for_answer(request_id=request_id)
    assert await ben.close_requests(request_id=request_id) == {"closed": 0}


async def test_ask_person_waits_for_the_answer(team):
    ann = await team.agent("ann")
    heard = asyncio.Event()
    stop = await team.calls.bus.listen_to_project("shop", lambda _: heard.set())
    asking = asyncio.create_task(ann.ask_person(question="Ship it?", options=["yes", "no"], wait_seconds=50))
    await asyncio.wait_for(heard.wait(), PATIENCE_SECONDS)
    stop()
    (request,) = (await team.anyone(PAGE).list_requests(project="shop"))["requests"]
    assert request["questions"] == [{"question": "Ship it?", "options": [{"label": "yes"}, {"label": "no"}]}]
    await _answer(team, request["id"], decision="answer", answers=["yes"], note="after lunch")
    reply = await asking
    assert reply == {
        "status": "answered",
        "request_id": request["id"],
        "answer": "yes; after lunch",
        "answered_by": "eve",
    }
    assert "_notice" not in await ann.heartbeat()


async def test_ask_person_tells_the_news_that_waited_for_the_agent(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    with pytest.raises(errors.NotFound, match="does not exist"):
        await ann.get_spec(name="cart-api")
    await ben.define_spec(name="cart-api", content="GET /cart")
    asked = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert asked["_notice"] == ["ben published spec cart-api 1.0.0: read it with memory_get_spec."]
    await ben.define_spec(name="cart-api", content="GET /basket", version="2.0.0")
    asked = await ann.ask_person(question="Ship it now?", wait_seconds=0)
    assert (asked["status"], len(asked["_notice"])) == ("open", 1)
    assert "_notice" not in await ann.heartbeat()


async def test_ask_person_waits_for_the_answer_through_other_news_and_tells_it_then(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ben.send_message(to_instance="ann", message="Lunch?")
    heard = asyncio.Event()
    stop = await team.calls.bus.listen_to_project("shop", lambda _: heard.set())
    asking = asyncio.create_task(ann.ask_person(question="Ship it?", wait_seconds=50))
    await asyncio.wait_for(heard.wait(), PATIENCE_SECONDS)
    stop()
    (request,) = (await team.anyone(PAGE).list_requests(project="shop"))["requests"]
    team.clock.advance(seconds=1)
    await ben.send_message(to_instance="ann", message="Pizza?")
    await _answer(team, request["id"], decision="answer", answers=["yes"])
    reply = await asyncio.wait_for(asking, PATIENCE_SECONDS)
    assert (reply["status"], reply["answer"]) == ("answered", "yes")
    (notice,) = reply["_notice"]
    assert notice.startswith('2 new messages from ben: "Lunch?"')


async def test_urgent_mail_ends_the_wait_for_a_person(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ben.send_message(to_instance="ann", message="The site is down", priority="urgent")
    asked = await asyncio.wait_for(ann.ask_person(question="Ship it?", wait_seconds=50), PATIENCE_SECONDS)
    assert (asked["status"], len(asked["_notice"])) == ("open", 1)
    assert asked["message"].startswith("The wait ended early, without the answer: urgent mail came")


async def test_ask_person_says_which_people_can_see_the_question(team):
    ann = await team.agent("ann")
    asked = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert asked["message"].endswith(
        "Nobody is signed in to the page and no webhook tells anybody: ask in your own conversation, too."
    )
    await team.calls.run_operation(sign_in, {}, replace(LOCAL, agent="eve"))
    asked = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert asked["message"].endswith("It can be seen by eve on the page.")
    await team.anyone(PAGE).add_webhook(project="shop", kind="slack", url="https://hooks.slack.com/x")
    asked = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert asked["message"].endswith("It can be seen by eve on the page and people whom a webhook tells.")


async def test_answer_to_a_question_that_nobody_waits_for_comes_as_a_notice_once(team):
    ann = await team.agent("ann")
    asked = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert asked["status"] == "open"
    await _answer(team, asked["request_id"], decision="answer", answers=["yes"])
    (notice,) = (await ann.heartbeat())["_notice"]
    assert f'eve answered "Ship it?" ({asked["request_id"]}): yes' in notice
    assert "_notice" not in await ann.heartbeat()


async def test_a_wait_for_messages_ends_with_the_answer_to_a_question_that_stays_open(team):
    ann = await team.agent("ann")
    asked = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert asked["message"].startswith("The question stays open.")
    assert "memory_get_messages(wait_seconds=50) ends when it comes" in asked["message"]
    waiting = asyncio.create_task(ann.get_messages(wait_seconds=50))
    await asyncio.sleep(0)
    await _answer(team, asked["request_id"], decision="answer", answers=["yes"])
    (notice,) = (await asyncio.wait_for(waiting, PATIENCE_SECONDS / 2))["_notice"]
    assert f'eve answered "Ship it?" ({asked["request_id"]}): yes' in notice


async def test_same_question_again_is_the_same_request_until_it_is_read(team):
    ann = await team.agent("ann")
    first = await ann.ask_person(question="Ship it?", wait_seconds=0)
    again = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert again["request_id"] == first["request_id"]
    await _answer(team, first["request_id"], decision="deny")
    read = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert (read["status"], read["answer"]) == ("answered", "(declined to answer)")
    assert (await ann.ask_person(question="Ship it?", wait_seconds=0))["request_id"] != first["request_id"]


async def test_question_outlives_its_session_until_it_is_answered_and_read(team):
    ann = await team.agent("ann", working_directory="/shop")
    first = await ann.ask_person(question="Ship it?", options=["yes", "no"], wait_seconds=0)
    await ann.end_session(summary="done")
    ann = await team.agent("ann", working_directory="/elsewhere")
    assert ann.started["asked_by_you"] == [
        {"request_id": first["request_id"], "question": "Ship it?", "age": "just now"}
    ]
    again = await ann.ask_person(question="Ship it?", wait_seconds=0)
    assert again["request_id"] == first["request_id"]
    assert again["message"].startswith("You asked this at 2027-01-15T08:00:00Z; it is the same request. ")
    await ann.end_session(summary="done")
    assert len((await team.anyone(PAGE).list_requests(project="shop"))["requests"]) == 1
    await _answer(team, first["request_id"], decision="answer", answers=["yes"])
    ann = await team.agent("ann")
    assert "asked_by_you" not in ann.started
    (notice,) = (await ann.heartbeat())["_notice"]
    assert f'eve answered "Ship it?" ({first["request_id"]}): yes' in notice
    await ann.end_session(summary="done")
    assert "_notice" not in await (await team.agent("ann")).heartbeat()


async def test_answer_is_told_to_the_session_that_its_agent_has_now(team):
    ann = await team.agent("ann")
    asked = await ann.ask_person(question="Ship it?", wait_seconds=0)
    await ann.end_session(summary="done")
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await _answer(team, asked["request_id"], decision="answer", answers=["no"])
    assert "_notice" not in await ben.heartbeat()
    answered = await ann.ask_person(question="Ship it?")
    assert (answered["status"], answered["answer"]) == ("answered", "no")
    assert "_notice" not in await ann.heartbeat()


async def test_questions_of_earlier_sessions_follow_an_agent_to_its_new_name(team):
    windows = [replace(LOCAL, windows=(f"claude:{n}",), seat="claude@laptop") for n in range(2)]
    first = team.anyone(windows[0])
    await first.start_session(project="shop")
    asked = await first.ask_person(question="Ship it?", wait_seconds=0)
    await first.end_session(summary="done")
    second = team.anyone(windows[1])
    await second.start_session(project="shop")
    renamed = await second.start_session(project="shop", claude_instance="ann")
    assert (renamed["agent"], renamed["asked_by_you"][0]["request_id"]) == ("ann", asked["request_id"])


async def test_same_question_of_another_agent_or_with_other_options_is_another_request(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    asked = [
        await agent.ask_person(question="Ship it?", options=options, wait_seconds=0)
        for agent, options in ((ann, ["yes", "no"]), (ann, ["now", "later"]), (ben, ["yes", "no"]))
    ]
    assert len({request["request_id"] for request in asked}) == 3


async def test_ask_person_refuses_more_open_questions_than_anybody_reads(team):
    ann = await team.agent("ann")
    for number in range(20):
        await ann.ask_person(question=f"Number {number}?", wait_seconds=0)
    with pytest.raises(errors.TooMany):
        await ann.ask_person(question="One more?", wait_seconds=0)


async def test_report_leaves_secrets_out(team):
    ann = await team.agent("ann")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    await _report(ann, text=f"curl -H 'Authorization: Bearer {secret}' https://example.org")
    (request,) = (await team.anyone(PAGE).list_requests(project="shop"))["requests"]
    assert secret not in request["text"]
    assert "curl" in request["text"]


def test_no_tool_of_a_model_answers_requests():
    assert "memory_ask_person" in CATALOGUE.model_tools
    assert CATALOGUE.model_tools.isdisjoint({"memory_answer_request", "memory_report_request"})


async def _ask_and_answer(team, agent, question, answer):
    asked = await agent.ask_person(question=question, wait_seconds=0)
    await _answer(team, asked["request_id"], decision="answer", answers=[answer])
    assert (await agent.ask_person(question=question, wait_seconds=0))["answer"] == answer
    return asked["request_id"]


async def test_answer_is_found_by_its_words_and_opened_by_the_whole_team(team):
    ann, bob = await team.agent("ann"), await team.agent("bob")
    request_id = await _ask_and_answer(team, ann, "May carts exceed ten lines?", "No, ten is the ceiling")
    (result,) = (await bob.query(query="ceiling of lines"))["results"]
    assert {name: result[name] for name in ("kind", "id", "type", "status", "author")} == {
        "kind": "request",
        "id": request_id,
        "type": "answer",
        "status": "answered",
        "author": "ann",
    }
    assert "Answer of eve: No, ten is the ceiling" in result["content"]
    opened = await bob.get_by_id(id=request_id)
    assert (opened["resolution"], opened["answered_by"]) == ("No, ten is the ceiling", "eve")


async def test_later_answer_to_the_same_question_stands_before_the_older(team):
    ann, bob = await team.agent("ann"), await team.agent("bob")
    old = await _ask_and_answer(team, ann, "Which rounding for totals?", "Half even rounding for totals")
    team.clock.advance(minutes=1)
    new = await _ask_and_answer(team, bob, "which rounding, for TOTALS", "Half up")
    results = (await ann.query(query="which rounding half even for totals"))["results"]
    assert [(result["id"], result.get("later", "")) for result in results] == [(new, ""), (old, new)]


async def test_dialogs_of_programs_are_not_searched_and_open_for_their_agent_only(team):
    ann, bob = await team.agent("ann"), await team.agent("bob")
    request_id = await _report(ann, text="delete the walrus")
    assert (await bob.query(query="walrus"))["results"] == []
    assert (await ann.get_by_id(id=request_id))["found"]
    teammate = team.anyone(Caller("agent", frozenset({"shop"}), "key_bob", "bob"))
    assert not (await teammate.get_by_id(id=request_id, project="shop"))["found"]


async def test_answers_stay_and_questions_without_one_leave_the_index_with_their_rows(team):
    ann = await team.agent("ann")
    kept = await _ask_and_answer(team, ann, "May the walrus stay?", "It may")
    await ann.ask_person(question="Who feeds the walrus?", wait_seconds=0)
    team.clock.advance(days=31)
    await delete_old_rows(team.calls)
    bob = await team.agent("bob")
    assert [result["id"] for result in (await bob.query(query="walrus"))["results"]] == [kept]
