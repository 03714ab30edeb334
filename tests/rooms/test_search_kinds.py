"""What holds now stands before what somebody works on: kinds of results, and what a later one replaces."""


async def _list_kinds(agent, question, **options):
    return [result["kind"] for result in (await agent.query(query=question, limit=5, **options))["results"]]


async def _decide(agent, title, content):
    return (await agent.store(title=title, content=content, memory_type="adr"))["id"]


async def test_query_does_not_list_the_work_of_a_task_beside_it(team):
    alice = await team.agent("alice")
    item = await alice.add_backlog_item(title="Coupon discount rounding", description="Round half up.")
    await alice.update_backlog_item(item_id=item["id"], claim=True)
    assert await _list_kinds(alice, "coupon discount rounding") == ["backlog"]
    await alice.update_work(title="Coupon discount rounding", status="in_progress", notes="half up it is")
    assert await _list_kinds(alice, "coupon discount rounding") == ["backlog"]


async def test_a_learning_that_only_mentions_another_does_not_replace_it(team):
    alice = await team.agent("alice")
    old = (await alice.record_learning(topic="Pool", content="The pool holds ten connections."))["id"]
    await alice.record_learning(topic="Proxy", content=f"The proxy has a pool of its own, see {old}.")
    (result,) = [
        result
        for result in (await alice.query(query="pool holds ten connections"))["results"]
        if result["id"] == old
    ]
    assert "later" not in result


async def test_the_warning_of_a_replaced_document_names_the_last_of_a_chain(team):
    alice = await team.agent("alice")
    first, second, third = [
        await _decide(alice, f"Deploy {n}", text)
        for n, text in enumerate(("Deploy by hand.", "Deploy with a script.", "Deploy by pushing a tag."))
    ]
    for old, new in ((first, second), (second, third)):
        await alice.change_status(doc_id=old, new_status="superseded", superseded_by=new)
    assert f"replaced by {third}" in (await alice.get_by_id(doc_id=first))["warning"]
    results = (await alice.query(query="deploy by hand", include_inactive=True))["results"]
    assert {result["id"]: result.get("later") for result in results} == {
        first: third,
        second: third,
        third: None,
    }


async def test_a_guideline_keeps_the_time_of_its_creation(team):
    alice = await team.agent("alice")
    await alice.guidelines(action="set", name="tests", rule="Run the tests before you end.", scope="shop")
    before = (await alice.query(query="run the tests", detail="full"))["results"][0]
    team.clock.advance(days=1)
    await alice.guidelines(action="set", name="tests", rule="Run all the tests before you end.", scope="shop")
    after = (await alice.query(query="run the tests", detail="full"))["results"][0]
    assert (after["created"], after["updated"] > before["updated"]) == (before["created"], True)


async def test_query_for_what_somebody_said_may_show_mail_first(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await _decide(alice, "Amounts", "We keep money as integer cents; floats lose cents in sums.")
    sent = await alice.send_message(
        to_instance="bob", subject="integer cents", message="The decision on integer cents is stored."
    )
    results = (await bob.query(query="what did alice tell me about integer cents"))["results"]
    assert results[0]["id"] == sent["message_id"]


async def _plan_vouchers(team):
    alice = await team.agent("alice")
    await _decide(
        alice,
        "Vouchers may not exceed the total",
        "The vouchers of a cart together never take off more than the sum of its lines: the discount is cut to that"
        " sum. We never owe the customer money for a voucher. Each voucher is rounded half up.",
    )
    await alice.guidelines(
        action="set", name="integer-cents", rule="Money is integer cents; rounding is half up.", scope="shop"
    )
    await alice.add_backlog_item(
        title="Review vouchers and rounding",
        description="Review the voucher code, the rendering and the rounding (half up, integer cents).",
    )
    await alice.checklist(
        action="create",
        name="voucher-review",
        items=[
            "Rounding: discount is integer cents, half up (0.5 cent rounds up)",
            "Empty cart: render with no lines, with and without voucher",
            "Unknown voucher code: what the contract says happens",
        ],
    )
    for title in ("Search box", "Login page", "Dark mode"):
        await alice.add_backlog_item(title=title, description=f"Build the {title.lower()} of the shop.")
    await team.calls.search.drain_queue()
    return alice


async def test_query_for_tasks_puts_them_first(team):
    alice = await _plan_vouchers(team)
    assert (await _list_kinds(alice, "open tasks about a voucher and rounding"))[0] == "backlog"
    assert (await _list_kinds(alice, "review vouchers and rounding"))[0] == "backlog"
