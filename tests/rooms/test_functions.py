"""Functions: found before they are written twice, one record for each, and honest about what changed since."""

import pytest

from commonplace import access, errors
from commonplace.clock import iso
from commonplace.rooms.functions.finders import FINDERS
from commonplace.server import delete_old_rows

RETRY = {
    "name": "retry_with_backoff",
    "file_path": "src/net/retry.py:12",
    "purpose": "Call again after a failure, waiting longer each time.",
}


def scanned_function(name: str = "retry_with_backoff", file: str = "src/net/retry.py", **more):
    """What the librarian sends of a function."""
    body = more.pop("body", "b1")
    signature = more.pop("signature", f"def {name}(call, tries=3)")
    return {
        "name": name,
        "file": file,
        "kind": "function",
        "language": "python",
        "line": 12,
        "end_line": 30,
        "signature": signature,
        "body": body,
        "digest": f"{signature}{body}"[-64:],
    } | more


async def _sync_functions(team, *functions, project: str = "shop", **more):
    return await team.anyone().sync_functions(project=project, functions=list(functions), **more)


async def _find_functions(agent, query: str = "retry", **more):
    return (await agent.find_function(query=query, **more)).get("results", [])


async def test_register_function_makes_one_record_that_is_found_and_queued(team):
    alice = await team.agent("alice")
    made = await alice.register_function(
        **RETRY, gotchas="Never for POST.", prefer_over="while loops", requires=["asyncio"]
    )
    assert made == {"status": "registered", "id": made["id"], "queued_for_enrichment": True}
    assert made["id"].startswith("func_")
    match = await _find_functions(alice, "how do we retry?")
    assert match == [
        {
            "id": made["id"],
            "name": "retry_with_backoff",
            "file_path": "src/net/retry.py:12",
            "purpose": RETRY["purpose"],
            "signature": "",
            "relevance": match[0]["relevance"],
            "enriched": False,
            "gotchas": "Never for POST.",
            "prefer_over": "while loops",
            "requires": ["asyncio"],
        }
    ]
    assert 0 < match[0]["relevance"] <= 1


async def test_register_function_reads_the_signature_from_the_code(team):
    alice = await team.agent("alice")
    code = "def retry_with_backoff(call, tries: int = 3) -> bytes:\n    return call()"
    await alice.register_function(**RETRY, code=code)
    (match,) = await _find_functions(alice)
    assert match["signature"] == "def retry_with_backoff(call, tries: int = 3) -> bytes"
    await alice.register_function(**RETRY, code=code.replace("tries", "times"))
    await alice.register_function(**RETRY | {"purpose": "Call again, more slowly each time."})
    (match,) = await _find_functions(alice)
    assert match["signature"] == "def retry_with_backoff(call, times: int = 3) -> bytes"
    assert "drift" not in match


@pytest.mark.parametrize(
    ("file", "code", "signature"),
    [
        (
            "pay.kt",
            "@Deprecated\nprivate fun retry(tries: Int): Int {\n}",
            "private fun retry(tries: Int): Int",
        ),
        ("pay.lua", "-- again\nlocal function retry(tries)\nend", "local function retry(tries)"),
        ("pay.py", "def retry(tries) -> bytes", "def retry(tries) -> bytes"),
        ("pay.kt", "return retry(3)", ""),
        ("pay.kt", "fun again(tries: Int) {\n  fun retry(1)\n}", ""),
    ],
)
async def test_register_function_takes_the_line_of_the_definition_where_no_grammar_reads_it(
    team, file, code, signature
):
    alice = await team.agent("alice")
    await alice.register_function(name="retry", file_path=file, purpose="Call again.", code=code)
    [match] = (await alice.find_function(query="retry"))["results"]
    assert match["signature"] == signature


async def test_register_function_leaves_the_signature_of_a_scan(team):
    alice = await team.agent("alice")
    await _sync_functions(team, scanned_function())
    await alice.register_function(**RETRY, code="def retry_with_backoff(old): pass")
    (match,) = await _find_functions(alice)
    assert match["signature"] == "def retry_with_backoff(call, tries=3)"


async def test_register_function_again_at_another_line_keeps_the_record_and_its_analysis(team):
    alice = await team.agent("alice")
    made = await alice.register_function(**RETRY, gotchas="Never for POST.")
    await alice.enrich_function(func_id=made["id"], search_summary="Exponential pauses between attempts.")
    again = await alice.register_function(
        **RETRY | {"file_path": "./src/net/retry.py:40", "purpose": "Try again."}
    )
    assert again == {"status": "updated", "id": made["id"], "queued_for_enrichment": False}
    [match] = await _find_functions(alice, "exponential pauses")
    assert (match["purpose"], match["gotchas"], match["file_path"]) == (
        "Try again.",
        "Never for POST.",
        "src/net/retry.py:40",
    )


async def test_register_function_takes_other_spellings_of_file_and_name(team):
    alice = await team.agent("alice", working_directory="/home/al/shop")
    await _sync_functions(team, scanned_function("Client.retry", "src/client.cpp"))
    named = await alice.register_function(
        name="Client::retry(int tries)", file="/home/al/shop/src/client.cpp:7", purpose="Retries."
    )
    bare = await alice.register_function(name="retry", file_path="src\\client.cpp", purpose="Retries.")
    assert (named["status"], bare["id"]) == ("updated", named["id"])


async def test_register_function_says_what_looks_alike(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    made = await alice.register_function(**RETRY)
    await alice.register_function(name="render_invoice", file_path="a.py", purpose="Draw an invoice as PDF.")
    again = await bob.register_function(
        name="backoffRetry", file_path="src/util.py", purpose="Repeat a failed call with growing pauses."
    )
    assert [(item["id"], item["name"]) for item in again["similar"]] == [(made["id"], "retry_with_backoff")]
    other = await bob.register_function(name="parse_date", file_path="d.py", purpose="Read a date from text.")
    assert "similar" not in other


async def test_register_function_keeps_no_secret(team):
    alice = await team.agent("alice")
    key = "ghp_" + "a1B2" * 9
    made = await alice.register_function(**RETRY, gotchas=f"needs {key}", code=f"TOKEN = '{key}'")
    assert made["_notice"] == ["Secrets were masked before storing: github token."]
    document = await alice.get_by_id(doc_id=made["id"])
    assert key not in str(document)
    assert key not in str(await alice.become_librarian())


@pytest.mark.parametrize(
    "invalid",
    [{"name": "()"}, {"file_path": "../outside.py"}, {"purpose": " "}, {"file_path": "/elsewhere/a.py"}],
)
async def test_register_function_refuses_what_names_nothing(team, invalid):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid):
        await alice.register_function(**RETRY | invalid)
    assert await _find_functions(alice) == []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("how do we retry?", "retry_with_backoff"),
        ("load user profile", "loadUserProfile"),
        ("HttpClient", "send"),
        ("who calls sendgrid mail", "notify"),
        ("money rounding", "round_total"),
        ("database", "store_order"),
    ],
)
async def test_find_function_finds_by_purpose_name_parts_signature_and_calls(team, query, name):
    alice = await team.agent("alice")
    await _sync_functions(
        team,
        scanned_function(doc="Call again after a failure."),
        scanned_function("loadUserProfile", "web/user.ts", doc="Reads one."),
        scanned_function("send", "net.py", signature="def send(client: HttpClient) -> bytes"),
        scanned_function("notify", "mail.py", calls=["sendgrid.mail.post"]),
        scanned_function("round_total", "sum.py", doc="Rounding of money to cents."),
        scanned_function("store_order", "order.py", side_effects=["database"]),
    )
    assert (await _find_functions(alice, query))[0]["name"] == name


async def test_find_function_reads_shared_ones_unless_told_not_to(team):
    alice = await team.agent("alice")
    await alice.register_function(**RETRY, project="shared")
    assert [item["project"] for item in await _find_functions(alice)] == ["shared"]
    assert await _find_functions(alice, include_shared=False) == []
    assert await alice.find_function(query="zebra") == {
        "results": [],
        "result_count": 0,
        "message": "Nothing relevant found.",
    }


async def test_find_function_says_that_no_function_is_about_the_question(team):
    alice = await team.agent("alice")
    for name, purpose in (
        ("retry_with_backoff", "Call again after a failure, waiting longer each time."),
        ("parse_booking", "Read a booking from JSON and check its dates."),
        ("occupancy", "The share of rooms that are taken on a day (contract booking)."),
        ("format_price", "Render an amount in cents with its currency sign."),
    ):
        await alice.register_function(name=name, file_path=f"src/{name}.py", purpose=purpose)
    await team.calls.search.drain_queue()
    answer = await alice.find_function(query="the colour of the flag of Bolivia")
    assert (answer["result_count"], answer["results"]) == (0, [])
    assert (answer["message"], bool(answer["nearest_names"])) == ("Nothing relevant found.", True)
    for query, name in (
        ("try again when a request fails", "retry_with_backoff"),
        ("how full is the hotel", "occupancy"),
        ("show money to the customer", "format_price"),
    ):
        assert (await _find_functions(alice, query))[0]["name"] == name


async def test_find_function_does_not_see_other_projects(team):
    alice, eve = await team.agent("alice"), await team.agent("eve", "bank")
    await alice.register_function(**RETRY)
    assert await _find_functions(eve) == []
    stranger = access.Caller("agent", frozenset({"bank"}), "key_bank")
    with pytest.raises(errors.Forbidden):
        await team.anyone(stranger).sync_functions(project="shop", gone=[["src/net/retry.py", "x"]])
    with pytest.raises(errors.Forbidden):
        await team.anyone(stranger).list_functions(project="shop")


async def test_sync_functions_fills_what_an_agent_registered(team):
    alice = await team.agent("alice")
    made = await alice.register_function(**RETRY)
    synced = await _sync_functions(
        team, scanned_function(line=14, calls=["sleep"], side_effects=["network"], complexity=3)
    )
    assert synced == {"status": "synced", "updated": 1}
    [match] = await _find_functions(alice)
    assert match == {
        "id": made["id"],
        "name": "retry_with_backoff",
        "file_path": "src/net/retry.py:14",
        "purpose": RETRY["purpose"],
        "signature": "def retry_with_backoff(call, tries=3)",
        "relevance": match["relevance"],
        "enriched": True,
        "side_effects": ["network"],
    }
    assert await alice.get_enrichment_queue() == {"items": [], "pending_count": 0}


async def test_sync_functions_knows_a_method_that_was_registered_without_its_class(team):
    alice = await team.agent("alice")
    made = await alice.register_function(name="send", file_path="mail.py", purpose="Send mail.")
    await _sync_functions(team, scanned_function("Mailer.send", "mail.py"), gone=[["mail.py", "send"]])
    [match] = await _find_functions(alice, "mail")
    assert (match["id"], match["name"]) == (made["id"], "Mailer.send")
    assert "drift" not in match


async def test_sync_functions_drift_says_what_changed_until_it_is_described_again(team):
    alice = await team.agent("alice")
    await _sync_functions(team, scanned_function())
    await alice.register_function(**RETRY)
    await _sync_functions(team, scanned_function(line=99))
    assert "drift" not in (await _find_functions(alice))[0]
    await _sync_functions(team, scanned_function(body="b2"))
    assert (await _find_functions(alice))[0]["drift"] == {"changed": ["body"]}
    await _sync_functions(team, scanned_function(body="b2", signature="def retry_with_backoff(call)"))
    assert (await _find_functions(alice))[0]["drift"] == {
        "changed": ["signature", "body"],
        "signature_was": "def retry_with_backoff(call, tries=3)",
    }
    queue = await alice.get_enrichment_queue()
    assert [item["reason"] for item in queue["items"]] == ["changed since described"]
    await alice.register_function(**RETRY)
    assert "drift" not in (await _find_functions(alice))[0]


async def test_sync_functions_follows_a_function_to_another_file(team):
    alice = await team.agent("alice")
    await _sync_functions(team, scanned_function())
    made = await alice.register_function(**RETRY)
    await _sync_functions(team, gone=[["src/net/retry.py", "retry_with_backoff"]])
    assert (await _find_functions(alice))[0]["drift"] == {"changed": ["gone"]}
    moved = await _sync_functions(team, scanned_function(file="src/retry/core.py"))
    assert moved == {"status": "synced", "moved": 1}
    [match] = await _find_functions(alice)
    assert (match["id"], match["file_path"], match["purpose"]) == (
        made["id"],
        "src/retry/core.py:12",
        RETRY["purpose"],
    )
    assert match["drift"] == {"changed": ["moved"], "moved_from": "src/net/retry.py"}


async def test_sync_functions_another_body_elsewhere_is_another_function(team):
    alice = await team.agent("alice")
    await _sync_functions(team, scanned_function())
    made = await alice.register_function(**RETRY)
    await _sync_functions(team, gone=[["src/net/retry.py", "retry_with_backoff"]])
    assert (await _sync_functions(team, scanned_function(file="b.py", body="b9")))["added"] == 1
    here, lost = await _find_functions(alice)
    assert here["id"] != made["id"]
    assert (lost["id"], lost["drift"]["changed"]) == (made["id"], ["gone"])


async def test_sync_functions_vanished_ones_nobody_described_are_not_found_and_swept(team):
    alice = await team.agent("alice")
    await _sync_functions(team, scanned_function())
    identity = (await _find_functions(alice))[0]["id"]
    assert (await _sync_functions(team, gone=[["src/net/retry.py", "retry_with_backoff"]]))["gone"] == 1
    assert await _find_functions(alice) == []
    assert (await team.anyone().list_functions(project="shop")) == {"functions": [], "count": 0}
    assert (await alice.get_by_id(doc_id=identity))["status"] == "gone"
    team.clock.advance(days=31)
    await delete_old_rows(team.calls)
    assert (await alice.get_by_id(doc_id=identity))["found"] is False


async def test_sync_functions_brings_back_what_was_gone(team):
    alice = await team.agent("alice")
    await _sync_functions(team, scanned_function())
    first = (await _find_functions(alice))[0]["id"]
    await _sync_functions(team, gone=[["src/net/retry.py", "retry_with_backoff"]])
    await _sync_functions(team, scanned_function())
    assert [item["id"] for item in await _find_functions(alice)] == [first]


async def test_sync_functions_refuses_what_the_librarian_does_not_send(team):
    for invalid in (
        scanned_function(kind="lambda"),
        scanned_function(extra=1),
        scanned_function(file="../x.py"),
        scanned_function(line=0),
    ):
        with pytest.raises(errors.Invalid):
            await _sync_functions(team, invalid)
    with pytest.raises(errors.Invalid):
        await team.anyone().sync_functions(project="shop", functions=[scanned_function()] * 501)


@pytest.mark.slow
async def test_list_functions_pages_through_all_with_lines_as_told(team):
    rows = [scanned_function(f"f{n:04}", "many.py") for n in range(2003)]
    for start in range(0, len(rows), 500):
        await _sync_functions(team, *rows[start : start + 500])
    await _sync_functions(team, lines=[["many.py", "f0000", 5, 6]])
    first = await team.anyone().list_functions(project="shop")
    rest = await team.anyone().list_functions(project="shop", cursor=first["next_cursor"])
    assert (first["count"], rest["count"], "next_cursor" in rest) == (2000, 3, False)
    assert first["functions"][0] == ["many.py", "f0000", rows[0]["digest"], 5, 6]
    assert [item[1] for item in rest["functions"]] == ["f2000", "f2001", "f2002"]


async def test_enrich_function_replaces_and_never_appends_twice(team):
    alice = await team.agent("alice")
    made = await alice.register_function(**RETRY, gotchas="Never for POST.")
    for _ in range(2):
        done = await alice.enrich_function(
            func_id=made["id"][:12],
            signature="retry_with_backoff(call)",
            additional_gotchas=["Sleeps."],
            complexity=3,
            side_effects="network",
            parameters=[{"name": "call"}],
        )
    assert done == {
        "status": "enriched",
        "id": made["id"],
        "name": "retry_with_backoff",
        "fields": ["signature", "parameters", "side_effects", "complexity", "additional_gotchas"],
    }
    [match] = await _find_functions(alice)
    assert (match["gotchas"], match["signature"], match["side_effects"], match["enriched"]) == (
        "Never for POST.; Sleeps.",
        "retry_with_backoff(call)",
        ["network"],
        True,
    )
    await alice.enrich_function(func_id=made["id"], additional_gotchas=["Blocks."])
    assert (await _find_functions(alice))[0]["gotchas"] == "Never for POST.; Blocks."


async def test_enrich_function_drifts_when_the_body_changes_after_it(team):
    alice = await team.agent("alice")
    await _sync_functions(team, scanned_function())
    identity = (await _find_functions(alice))[0]["id"]
    await alice.enrich_function(func_id=identity, search_summary="Tries again with growing pauses.")
    assert (await _find_functions(alice, "growing pauses"))[0][
        "purpose"
    ] == "Tries again with growing pauses."
    await _sync_functions(team, scanned_function(body="b2"))
    assert (await _find_functions(alice))[0]["drift"] == {"changed": ["body"]}
    await alice.enrich_function(func_id=identity, search_summary="Tries again at once.")
    assert "drift" not in (await _find_functions(alice))[0]


async def test_enrich_function_refuses_nothing_unknown_ids_and_ambiguous_ones(team):
    alice = await team.agent("alice")
    made = await alice.register_function(**RETRY)
    with pytest.raises(errors.Invalid):
        await alice.enrich_function(func_id=made["id"])
    with pytest.raises(errors.NotFound):
        await alice.enrich_function(func_id="func_ffffffffffff", returns="int")
    with pytest.raises(errors.NotFound):
        await (await team.agent("eve", "bank")).enrich_function(func_id=made["id"], returns="int")


async def test_get_enrichment_queue_puts_hand_made_ones_first_and_pages(team):
    alice = await team.agent("alice")
    await _sync_functions(
        team,
        scanned_function("plain", "a.py", complexity=2),
        scanned_function("knotted", "a.py", complexity=20),
        scanned_function("told", "a.py", doc="Says what it does."),
    )
    await alice.register_function(**RETRY)
    queue = await alice.get_enrichment_queue(limit=2)
    assert (queue["pending_count"], [(item["name"], item["reason"]) for item in queue["items"]]) == (
        3,
        [("retry_with_backoff", "registered by hand"), ("knotted", "undescribed")],
    )
    rest = await alice.get_enrichment_queue(limit=2, offset=2)
    assert [item["name"] for item in rest["items"]] == ["plain"]


async def test_become_librarian_hands_out_source_and_instructions_within_a_budget(team):
    alice = await team.agent("alice")
    await _sync_functions(
        team,
        *(scanned_function(f"f{n}", "a.py", code=f"def f{n}():\n" + "    x()\n" * 400) for n in range(20)),
    )
    duty = await alice.become_librarian()
    assert (duty["project"], duty["unenriched_count"]) == ("shop", 20)
    assert "memory_enrich_function(func_id=" in duty["prompt"]
    assert duty["items"][0]["code"].startswith("def f")
    assert len(duty["items"]) + duty["omitted"] == 20
    assert len(str(duty)) < 9000 * 4
    for item in duty["items"]:
        await alice.enrich_function(func_id=item["id"], search_summary="Calls x.")
    assert (await alice.become_librarian())["unenriched_count"] == 20 - len(duty["items"])


async def test_become_librarian_names_the_project_that_is_not_the_sessions(team):
    alice = await team.agent("alice")
    await alice.register_function(**RETRY, project="shared")
    duty = await alice.become_librarian(project="shared")
    assert "project='shared'" in duty["prompt"]
    await alice.enrich_function(func_id=duty["items"][0]["id"], search_summary="x", project="shared")
    assert (await alice.become_librarian(project="shared"))["items"] == []


async def test_get_by_id_shows_all_that_is_known_of_a_function(team):
    alice = await team.agent("alice")
    await _sync_functions(
        team,
        scanned_function(parameters=[{"name": "tries", "default": "3"}], raises=["IOError"], code="def x"),
    )
    made = await alice.register_function(**RETRY)
    document = await alice.get_by_id(doc_id=made["id"][:10])
    assert (document["found"], document["title"], document["type"], document["author"]) == (
        True,
        "retry_with_backoff",
        "function_ref",
        "alice",
    )
    for part in (
        "purpose: Call again",
        'parameters: {"name":"tries","default":"3"}',
        "raises: IOError",
        "def x",
    ):
        assert part in document["content"]
    assert set(FINDERS) == {"func_"}


async def test_search_global_finds_functions_beside_documents(team):
    alice = await team.agent("alice")
    made = await alice.register_function(**RETRY)
    match = await alice.search_global(query="retry backoff")
    assert [(item["kind"], item["id"]) for item in match["results"]] == [("function", made["id"])]


async def test_register_function_of_another_says_whose_text_it_replaced_and_keeps_it(team, clock):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    made = await alice.register_function(**RETRY, gotchas="Never for POST.")
    first = clock.now
    clock.advance(seconds=19)
    again = await bob.register_function(**RETRY | {"purpose": "Try again."})
    assert again["replaced"] == {"by": "alice", "at": iso(first), "purpose": RETRY["purpose"]}
    assert (await alice.list_backlog())["_notice"] == [
        f"bob described retry_with_backoff ({made['id']}) anew; your text is in its versions."
    ]
    found = await bob.get_by_id(doc_id=made["id"])
    assert found["author"] == "bob"
    assert found["versions"] == [
        {
            "at": iso(first),
            "by": "alice",
            "purpose": RETRY["purpose"],
            "gotchas": "Never for POST.",
        }
    ]


async def test_register_function_again_with_the_same_text_keeps_its_author(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    made = await alice.register_function(**RETRY)
    again = await bob.register_function(**RETRY)
    assert "replaced" not in again
    assert "_notice" not in await alice.list_backlog()
    found = await bob.get_by_id(doc_id=made["id"])
    assert (found["author"], found.get("versions", [])) == ("alice", [])


async def test_similar_functions_are_listed_for_one_that_exists(team):
    alice = await team.agent("alice")
    made = [
        await alice.register_function(name=name, file_path=f"src/{name}.py", purpose=purpose)
        for name, purpose in (
            ("retry_with_backoff", "Retry a call with exponential backoff"),
            ("retry_call_with_backoff", "Retry a call with backoff and jitter"),
            ("format_money", "Write an amount for people"),
        )
    ]
    near = await alice.call("memory_list_similar_functions", project="shop", func_id=made[0]["id"])
    assert [each["name"] for each in near["functions"]] == ["retry_call_with_backoff"]
    with pytest.raises(errors.NotFound):
        await alice.call("memory_list_similar_functions", project="shop", func_id="func_000000000000")


async def test_a_function_is_found_by_what_its_body_does(team):
    alice = await team.agent("alice")
    made = await alice.register_function(
        name="settle",
        file_path="src/till.py:4",
        purpose="Ends the day.",
        code="def settle(till):\n    banknotes = count_banknotes(till)\n    return banknotes - till.float_amount\n",
    )
    found = await alice.find_function(query="banknotes minus the float amount")
    assert found["results"][0]["id"] == made["id"]
