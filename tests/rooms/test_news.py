"""News of blackboards and decisions: one line, once, with the id to open, for those whom it concerns."""


async def _use(agent, tool, **arguments):
    return await agent.call(tool, agent_session=agent.session_id, **arguments)


async def _open_blackboard(agent):
    return (await _use(agent, "create_session", purpose="Cart API"))["session_id"]


async def test_posts_are_told_once_and_together_to_who_opened_posted_to_or_read_the_blackboard(team):
    alice, bob, carol, dora = [await team.agent(name) for name in ("alice", "bob", "carol", "dora")]
    board = await _open_blackboard(alice)
    await _use(bob, "add_message", session_id=board, content="Use cents.")
    await _use(carol, "get_context", session_id=board)
    await _use(bob, "add_message", session_id=board, content="Round half up.")
    await _use(carol, "add_message", session_id=board, content="Agreed.")
    assert (await alice.heartbeat())["_notice"] == [
        f'3 new posts on blackboard {board} by bob, carol: get_context(session_id="{board}", after=0)'
    ]
    assert (await bob.heartbeat())["_notice"] == [
        f'1 new post on blackboard {board} by carol: get_context(session_id="{board}", after=2)'
    ]
    for agent in (alice, bob, carol, dora):
        assert "_notice" not in await agent.heartbeat()


async def test_who_reads_the_blackboard_is_not_told_of_what_it_reads(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    await _use(bob, "add_message", session_id=board, content="Use cents.")
    page = await _use(alice, "get_context", session_id=board)
    assert (len(page["messages"]), "_notice" in page) == (1, False)
    assert "_notice" not in await alice.heartbeat()


async def test_a_post_that_was_told_but_not_read_is_told_again_with_the_next_one(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    await _use(bob, "add_message", session_id=board, content="Use cents.")
    await alice.heartbeat()
    await _use(bob, "add_message", session_id=board, content="Round half up.")
    (notice,) = (await alice.heartbeat())["_notice"]
    assert notice.endswith("after=0)")
    await _use(alice, "get_context", session_id=board, after=0, limit=1)
    await _use(bob, "add_message", session_id=board, content="Tax last.")
    (notice,) = (await alice.heartbeat())["_notice"]
    assert notice.endswith("after=1)")


async def test_who_read_the_newest_alone_is_told_of_older_posts_with_the_next_one(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    for content in ("Use cents.", "Round half up."):
        await _use(bob, "add_message", session_id=board, content=content)
    await _use(alice, "get_context", session_id=board, limit=1)
    await _use(bob, "add_message", session_id=board, content="Tax last.")
    (notice,) = (await alice.heartbeat())["_notice"]
    assert notice.endswith("after=0)")


async def test_posts_that_cross_with_mine_come_back_whole_with_mine_and_are_read(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    await _use(bob, "add_message", session_id=board, content="Use cents.")
    posted = await _use(alice, "add_message", session_id=board, content="Use euros.")
    assert posted["unread"] == [{"sequence": 1, "sender": "bob", "excerpt": "Use cents."}]
    assert {"_notice", "read_with"}.isdisjoint(posted)
    assert "unread" not in await _use(alice, "add_message", session_id=board, content="Euros, then.")
    await _use(bob, "add_message", session_id=board, content="No: cents.")
    (notice,) = (await alice.heartbeat())["_notice"]
    assert notice.endswith("after=3)")


async def test_posts_that_come_back_cut_stay_unread(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    await _use(bob, "add_message", session_id=board, content=f"Use cents. {'Why? ' * 100}")
    posted = await _use(alice, "add_message", session_id=board, content="Use euros.")
    assert posted["read_with"] == f'get_context(session_id="{board}", after=0)'
    again = await _use(alice, "add_message", session_id=board, content="Euros, then.")
    assert [post["sequence"] for post in again["unread"]] == [1]
    assert again["unread"][0]["excerpt"].endswith("…")
    await _use(alice, "get_context", session_id=board)
    assert "unread" not in await _use(alice, "add_message", session_id=board, content="Cents.")


async def test_reading_only_some_messages_leaves_the_others_unread(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    for number in range(25):
        await _use(bob, "add_message", session_id=board, content=f"Point {number}")
    await _use(alice, "get_context", session_id=board, sender="carol")
    await _use(alice, "get_session", session_id=board)
    await _use(bob, "add_message", session_id=board, content="The last one.")
    (notice,) = (await alice.heartbeat())["_notice"]
    assert notice.endswith("after=0)")


async def test_private_posts_are_told_to_nobody(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    await _use(bob, "add_private_note", session_id=board, content="They are wrong.")
    assert "_notice" not in await alice.heartbeat()


async def test_many_posts_stay_one_short_notice(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    for number in range(30):
        await _use(bob, "add_message", session_id=board, content=f"Point {number}")
    (notice,) = (await alice.heartbeat())["_notice"]
    assert notice.startswith(f"30 new posts on blackboard {board} by bob")


async def test_the_conclusion_of_a_blackboard_is_told_and_found(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    await _use(bob, "add_message", session_id=board, content="Use cents.")
    team.clock.advance(minutes=5)
    await _use(bob, "close_session", session_id=board, summary="Totals are integer cents, rounded half up.")
    notices = (await alice.heartbeat())["_notice"]
    assert f"bob closed blackboard {board}: Totals are integer cents, rounded half up." in notices
    result = (await alice.query(query="how are totals rounded", memory_types=["blackboard"], detail="full"))[
        "results"
    ][0]
    assert (await alice.get_by_id(doc_id=result["id"]))["content"] == result["content"]
    assert result["content"] == "Totals are integer cents, rounded half up."
    listed = await _use(alice, "list_sessions", active_only=False)
    assert listed["sessions"][0]["updated_at"] == result["updated"]


async def test_new_decisions_are_told_together_to_the_live_sessions_of_their_project(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    other = await team.agent("bob", project="other")
    ids = [
        (await alice.store(title=title, content=f"{title} because of sums.", memory_type="adr"))["id"]
        for title in ("Money is cents", "Tax is rounded")
    ]
    await alice.store(title="Cart", content="The cart has lines.", memory_type="architecture")
    assert (await bob.heartbeat())["_notice"] == [
        f'alice recorded 2 decisions: {ids[0]} "Money is cents", {ids[1]} "Tax is rounded" (memory_get_by_id)'
    ]
    for agent in (alice, bob, other):
        assert "_notice" not in await agent.heartbeat()


async def test_the_notice_of_a_decision_and_the_reply_to_its_author_name_what_it_refines(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    first = (await alice.store(title="Money is cents", content="Amounts are cents.", memory_type="adr"))["id"]
    content = f"Amends {first}: tax, too, is whole cents."
    stored = await alice.store(title="Tax is cents", content=content, memory_type="adr")
    assert stored["refines"] == [first]
    assert "advice" not in stored
    (notice,) = (await bob.heartbeat())["_notice"]
    assert f'{stored["id"]} "Tax is cents", which refines {first}' in notice


async def test_the_notice_of_a_decision_tells_a_new_version_and_a_replacement_from_a_new_one(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    first = (await alice.store(title="Money is cents", content="Amounts are cents.", memory_type="adr"))["id"]
    await bob.heartbeat()
    amended = {"title": "Money is cents", "content": "Amounts are cents, tax too.", "memory_type": "adr"}
    assert (await alice.store(**amended, force_store=True))["version"] == 2
    (notice,) = (await bob.heartbeat())["_notice"]
    assert f'{first} "Money is cents", version 2' in notice
    content = "Amounts are decimal numbers with two places."
    other = await alice.store(title="Money is decimal", content=content, memory_type="adr", supersedes=first)
    (notice,) = (await bob.heartbeat())["_notice"]
    assert f'{other["id"]} "Money is decimal", which replaces {first}' in notice


async def test_live_sessions_are_told_what_a_session_leaves_open_when_it_ends(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    notes = "The coupon is applied before tax; " * 20
    ended = await alice.end_session(summary="Prices", handoff_notes=notes)
    (notice,) = (await bob.heartbeat())["_notice"]
    assert notice.startswith("alice ended its session; open: The coupon is applied before tax;")
    assert notice.endswith(f"(memory_get_by_id {ended['handoff_id']})")
    assert len(notice) < 300
    await bob.end_session(summary="Review done", handoff_notes="Nothing is open.")
    assert len((await carol.heartbeat())["_notice"]) == 1


async def test_the_end_of_a_session_names_unread_posts_and_open_questions(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    await _use(bob, "add_message", session_id=board, content="Use cents.")
    asked = await alice.ask_person(question="Ship it?", options=["yes", "no"], wait_seconds=0)
    opened = await alice.get_by_id(doc_id=asked["request_id"])
    assert opened["content"] == "Ship it?\n- yes\n- no"
    ended = await alice.end_session(summary="done")
    assert ended["unread_posts"] == [f'get_context(session_id="{board}", after=0)']
    assert ended["open_questions"] == [f"{asked['request_id']} Ship it?"]


async def test_the_end_of_a_session_does_not_name_posts_of_a_closed_blackboard(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    board = await _open_blackboard(alice)
    await _use(bob, "add_message", session_id=board, content="Use cents.")
    await _use(bob, "close_session", session_id=board)
    assert "unread_posts" not in await alice.end_session(summary="done")


async def test_posts_that_were_not_read_are_named_at_the_next_start_until_they_are(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    board = (await ann.create_session(purpose="vouchers"))["session_id"]
    await ben.get_context(session_id=board, agent_session=ben.session_id)
    await ben.end_session(summary="done")
    await ann.add_message(session_id=board, content="410 or 422?", agent_session=ann.session_id)
    unread = [{"session_id": board, "purpose": "vouchers", "unread": 1, "after": 0}]
    for _ in range(2):
        ben = await team.agent("ben")
        assert ben.started["unread_posts"] == unread
        await ben.end_session(summary="done")
    ben = await team.agent("ben")
    await ben.get_context(session_id=board, agent_session=ben.session_id)
    await ben.end_session(summary="done")
    ben = await team.agent("ben")
    assert "unread_posts" not in ben.started
    await ann.add_message(session_id=board, content="422 it is.", agent_session=ann.session_id)
    (notice,) = (await ben.heartbeat())["_notice"]
    assert notice == f'1 new post on blackboard {board} by ann: get_context(session_id="{board}", after=1)'


async def test_a_decision_that_a_reply_shows_is_not_told_beside_it(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    first, second = [
        (await alice.store(title=title, content=f"{title} because of sums.", memory_type="adr"))["id"]
        for title in ("Money is cents", "Tax is rounded")
    ]
    assert (await bob.get_by_id(doc_id=first))["_notice"] == [
        f'alice recorded a decision: {second} "Tax is rounded" (memory_get_by_id)'
    ]
    third = (await alice.store(title="Coupons", content="Coupons come before tax.", memory_type="adr"))["id"]
    found = await bob.query(query="coupons before tax", limit=1)
    assert ([result["id"] for result in found["results"]], "_notice" in found) == ([third], False)
    assert "_notice" not in await bob.heartbeat()


async def test_a_spec_that_a_reply_shows_is_not_told_beside_it(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    await alice.define_spec(name="pricing", content="GET /price: cents")
    assert "_notice" not in await bob.get_spec(name="pricing")
    await alice.define_spec(name="pricing", version="2.0.0", content="GET /price: amount")
    await alice.define_spec(name="pricing", version="3.0.0", content="GET /price: amount, currency")
    (notice,) = (await bob.get_spec(name="pricing", version="1.0.0"))["_notice"]
    assert '3.0.0 (you read 1.0.0, breaking): +1 -1 lines: removed "GET /price: cents", added' in notice
    await alice.define_spec(name="pricing", version="4.0.0", content="GET /prices")
    assert "_notice" not in await bob.get_spec(name="pricing")
    (notice,) = (await carol.heartbeat())["_notice"]
    assert "pricing from 3.0.0 to 4.0.0" in notice


async def test_who_closed_an_item_is_told_when_what_depended_on_it_is_closed(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    built = (await ann.add_backlog_item(title="Cart"))["id"]
    review = (await ben.add_backlog_item(title="Review the cart", depends_on=[built]))["id"]
    await ann.complete_backlog_item(item_id=built)
    assert (await ben.complete_backlog_item(item_id=review, resolution="no findings"))["notified"] == ["ann"]
    assert (await ann.heartbeat())["_notice"] == [
        f'ben closed {review} (Review the cart) as done: "no findings". It depended on {built}, which you closed.'
    ]


async def test_who_filed_an_item_is_told_when_its_work_stops(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    item = (await ann.add_backlog_item(title="Login", assigned_to="ben"))["id"]
    reply = await ben.update_backlog_item(item_id=item, status="needs_info")
    assert reply["notified"] == ["ann"]
    assert (await ann.heartbeat())["_notice"] == [f"ben set {item} (Login), which you filed, to needs_info"]


async def test_an_agent_is_told_that_its_item_was_unassigned_or_closed_by_another(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    first, second = [
        (await ann.add_backlog_item(title=title, assigned_to="ben"))["id"] for title in ("Login", "Logout")
    ]
    await ben.heartbeat()
    await ann.update_backlog_item(item_id=first, assigned_to="")
    team.clock.advance(seconds=1)
    await ann.complete_backlog_item(item_id=second, wont_do=True)
    assert (await ben.heartbeat())["_notice"] == [
        f"ann unassigned {first} (Login): it is no longer yours.",
        f"ann closed {second} (Logout) as wont_do. It was yours.",
    ]
