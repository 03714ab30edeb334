"""What was said and overcome in sessions is found again."""

from typing import Any

import pytest
from sync_client import SyncClient, register_sync_client, search_places
from transcript_script import TranscriptScript, script_with_fixed_error, script_with_open_error, upload_script

from commonplace import errors
from commonplace.access import Caller
from commonplace.rooms.archives import study_store
from commonplace.rooms.archives.restudy import restudy_sessions
from commonplace.store.database import Tx
from commonplace.transcripts.archive import line_scan
from commonplace.transcripts.archive.study import STUDY_VERSION
from team import Team

CART = (
    TranscriptScript()
    .user("Why is the shopping cart empty after login?")
    .assistant("The session cookie is replaced.")
)
MENU = TranscriptScript().user("Make the menu accessible").assistant("Every entry has a label now.")


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


async def test_search_sessions_finds_what_was_said(sync: SyncClient):
    await upload_script(sync, "cart", CART)
    await upload_script(sync, "menu", MENU)
    answer = await sync.search_sessions(query="shopping cart empty")
    [match] = answer["matches"]
    assert {
        name: match[name] for name in ("workspace_id", "session_id", "line", "role", "snippet", "at")
    } == {
        "workspace_id": "laptop-claude-code-shop",
        "session_id": "cart",
        "line": 0,
        "role": "user",
        "snippet": "Why is the shopping cart empty after login?",
        "at": "2026-08-20T10:00:00Z",
    }
    assert 0 < match["relevance"] <= 1
    assert answer["truncated"] is False


async def test_search_sessions_finds_lines_as_they_are_appended(sync: SyncClient):
    first, rest = CART.lines[0] + b"\n", CART.lines[1] + b"\n"
    await sync.upload("cart", first + rest[:20])
    assert await search_places(sync, "cookie replaced") == []
    await sync.upload("cart", rest[20:], offset=len(first) + 20)
    assert await search_places(sync, "cookie replaced") == [("cart", 1, "assistant")]


async def test_search_sessions_finds_a_short_output_of_a_command_and_leaves_out_a_long_one(sync: SyncClient):
    message = "Evicted: The node was low on resource: ephemeral-storage."
    await upload_script(sync, "s1", TranscriptScript().user("Why?").run("kubectl describe pod", message))
    await upload_script(sync, "s2", TranscriptScript().user("List").run("ls -R", "zanzibar.txt\n" * 100))
    [(session, _, role)] = await search_places(sync, "node was low on resource")
    assert (session, role) == ("s1", "output")
    assert await search_places(sync, "zanzibar") == []
    assert await search_places(sync, "zanzibar", mode="literal") == [("s2", 2, "tool")]


async def test_search_sessions_finds_how_an_error_was_overcome(sync: SyncClient):
    await upload_script(sync, "fixed", script_with_fixed_error())
    await upload_script(
        sync, "other", TranscriptScript().user("No module in the docs is named like the yaml file")
    )
    story = "ModuleNotFoundError: No module named 'yaml'\nran: python importer.py\nthen: pip install pyyaml\ngone at line 7"
    for question in (
        "ModuleNotFoundError: No module named 'yaml'",
        "E   ModuleNotFoundError: No module named 'yaml'",
        "how did we fix ModuleNotFoundError yaml",
    ):
        best = (await sync.search_sessions(query=question))["matches"][0]
        assert (best["session_id"], best["role"], best["line"], best["snippet"]) == (
            "fixed",
            "error",
            2,
            story,
        )


async def test_search_sessions_prefers_where_an_error_was_overcome(sync: SyncClient):
    await upload_script(sync, "fixed", script_with_fixed_error())
    await upload_script(sync, "unsolved", script_with_open_error(30))
    sessions = [
        session for session, _, _ in await search_places(sync, "ModuleNotFoundError: No module named 'yaml'")
    ]
    assert sessions[:2] == ["fixed", "unsolved"]


@pytest.mark.parametrize("word", ["memory", "query", "summary", "retry"])
async def test_search_sessions_shows_the_line_that_has_the_word(sync: SyncClient, word: str):
    script = (
        TranscriptScript()
        .user("Hello there")
        .assistant("I think the memory grows")
        .user("we should query it")
    )
    script.assistant("the summary is wrong").user("retry policies matter")
    await upload_script(sync, "words", script)
    [match] = (await sync.search_sessions(query=word))["matches"]
    assert word in match["snippet"]


async def test_search_sessions_learns_of_a_remedy_that_came_with_a_later_part(sync: SyncClient):
    lines = [line + b"\n" for line in script_with_fixed_error().lines]
    at = 0
    for line in lines:
        await sync.upload("fixed", line, offset=at)
        at += len(line)
    best = (await sync.search_sessions(query="ModuleNotFoundError: No module named 'yaml'"))["matches"][0]
    assert best["snippet"].endswith("then: pip install pyyaml\ngone at line 7")


@pytest.mark.parametrize("mode", ["smart", "literal", "regex"])
async def test_search_sessions_shows_three_hits_of_a_session_unless_asked_for_more(
    sync: SyncClient, mode: str
):
    many = TranscriptScript()
    for n in range(8):
        many.user(f"The walrus number {n} " + "swims far away today " * 130)
    await upload_script(sync, "many", many)
    await upload_script(sync, "one", TranscriptScript().user("A walrus rests"))
    answer = await search_places(sync, "walrus", mode=mode)
    assert sorted(session for session, _, _ in answer) == ["many"] * 3 + ["one"]
    more = await search_places(sync, "walrus", mode=mode, per_session=10)
    assert len([session for session, _, _ in more if session == "many"]) == 8


@pytest.mark.parametrize("mode", ["smart", "literal", "regex"])
async def test_search_sessions_looks_in_the_workspace_and_time_asked_for(
    team: Team, sync: SyncClient, mode: str
):
    other = await register_sync_client(team, machine="desk")
    await upload_script(sync, "old", TranscriptScript(day="2026-08-01").user("The lighthouse blinks"))
    await upload_script(sync, "late", TranscriptScript(day="2026-08-20").user("The lighthouse is dark"))
    await upload_script(other, "theirs", TranscriptScript(day="2026-08-10").user("A lighthouse in the fog"))
    asked = {"query": "lighthouse", "mode": mode}

    async def sessions(**more: Any) -> list[str]:
        return sorted(session for session, _, _ in await search_places(sync, **asked, **more))

    assert await sessions() == ["late", "old", "theirs"]
    assert await sessions(workspace_id=sync.workspace["workspace_id"]) == ["late", "old"]
    assert await sessions(since="2026-08-05") == ["late", "theirs"]
    assert await sessions(until="2026-08-15T00:00:00Z") == ["old", "theirs"]
    assert await sessions(since="2026-08-05", until="2026-08-15", workspace_id="desk-claude-code-shop") == [
        "theirs"
    ]


@pytest.mark.parametrize("mode", ["smart", "literal", "regex"])
async def test_search_sessions_shows_nothing_of_a_project_that_the_caller_may_not_see(team: Team, mode: str):
    secret = await register_sync_client(team, project="vault")
    await upload_script(secret, "plans", TranscriptScript().user("The quagga is hidden"))
    stranger = team.anyone(Caller("agent", frozenset({"shop"})))
    assert (await stranger.search_sessions(query="quagga", mode=mode))["matches"] == []
    with pytest.raises(errors.NotFound):
        await stranger.search_sessions(
            query="quagga", mode=mode, workspace_id=secret.workspace["workspace_id"]
        )


async def test_search_sessions_literal_takes_the_text_as_it_is(sync: SyncClient):
    await upload_script(sync, "s1", TranscriptScript().user('Say "a.b*c" to Zoë\nand go').user("Say aXbbc"))
    assert await search_places(sync, "a.b*c", mode="literal") == [("s1", 0, "user")]
    assert await search_places(sync, '"A.B*C" TO ZOË\nand', mode="literal") == [("s1", 0, "user")]


async def test_search_sessions_regex_matches_lines_and_tells_who_spoke(sync: SyncClient):
    await upload_script(
        sync,
        "s1",
        TranscriptScript().user("port 8080 is taken").assistant("use 9090").run("echo 7070", "7070"),
    )
    answer = await sync.search_sessions(query=r"\b[789]0[789]0\b", mode="regex")
    assert [(each["line"], each["role"], each["snippet"]) for each in answer["matches"]] == [
        (0, "user", "port 8080 is taken"),
        (1, "assistant", "use 9090"),
        (2, "tool", "echo 7070"),
    ]


@pytest.mark.parametrize("pattern", ["(", "a{1000}{1000}", "(?=a)"])
async def test_search_sessions_refuses_what_is_no_pattern(sync: SyncClient, pattern: str):
    with pytest.raises(errors.Invalid):
        await sync.search_sessions(query=pattern, mode="regex")


async def test_search_sessions_says_that_there_is_more(sync: SyncClient):
    for n in range(4):
        await upload_script(sync, f"s{n}", TranscriptScript().user(f"The narwhal {n}"))
    for mode in ("smart", "literal", "regex"):
        answer = await sync.search_sessions(query="narwhal", mode=mode, limit=3)
        assert (len(answer["matches"]), answer["truncated"]) == (3, True)
        answer = await sync.search_sessions(query="narwhal", mode=mode, limit=4)
        assert (len(answer["matches"]), answer["truncated"]) == (4, False)


async def test_search_sessions_says_that_it_stopped_before_the_end(
    sync: SyncClient, monkeypatch: pytest.MonkeyPatch
):
    await upload_script(sync, "cart", CART)
    monkeypatch.setattr(line_scan, "_MAX_SCANNED_BYTES", 100)
    for mode in ("literal", "regex"):
        answer = await sync.search_sessions(query="axolotl", mode=mode)
        assert answer == {"matches": [], "truncated": True}


async def test_search_sessions_takes_lines_that_no_store_could_keep_as_text(sync: SyncClient):
    odd = b'{"role":"user","content":"The o\\u0000kapi \\ud83d is \x01 shy \xff"}\n'
    broken = b'{"role":"user","content":"cut off\n\x00\x00\n[' + b"[" * 5000 + b"\n"
    await sync.upload("odd", odd + broken)
    [match] = (await sync.search_sessions(query="okapi shy"))["matches"]
    assert (match["line"], match["snippet"]) == (0, "The okapi ? is \x01 shy \ufffd")
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id="odd")
    assert ([each["line"] for each in page["messages"]], page["summary"]["skipped_lines"]) == ([0], 3)
    assert await sync.read_all_bytes("odd") == odd + broken


async def test_search_global_covers_sessions(team: Team, sync: SyncClient):
    await upload_script(sync, "cart", CART)
    alice = await team.agent("alice")
    answer = await alice.search_global(query="cookie replaced after login")
    [row] = answer["results"]
    assert (row["kind"], row["title"], row.get("type")) == (
        "session",
        "Why is the shopping cart empty after login?",
        None,
    )
    assert (row["workspace_id"], row["session_id"], row["line"]) == ("laptop-claude-code-shop", "cart", 0)


async def test_query_finds_sessions_of_a_project_that_the_caller_sees(team: Team, sync: SyncClient):
    await upload_script(sync, "cart", CART)
    alice = await team.agent("alice")
    [row] = (await alice.query(query="cookie replaced after login"))["results"]
    assert (row["kind"], row["session_id"], row["line"]) == ("session", "cart", 0)
    opened = await alice.get_by_id(id=row["id"])
    assert (opened["type"], opened["links"]["session_id"]) == ("session", "cart")
    assert "cookie" in opened["content"]
    assert (await alice.query(query="cookie replaced", memory_types=["-session"]))["results"] == []
    stranger = Caller("agent", frozenset({"bank"}), "key_bank")
    mallory = await team.agent("mallory", project="bank", caller=stranger)
    assert (await mallory.query(query="cookie replaced"))["results"] == []
    assert (await mallory.get_by_id(id=row["id"]))["found"] is False


async def test_search_global_shows_few_parts_of_a_session_beside_documents(team: Team, sync: SyncClient):
    said = b"".join(
        b'{"role":"user","content":"The okapi of day %d is shy. %s"}\n' % (n, b"It eats leaves. " * 200)
        for n in range(30)
    )
    await sync.upload("okapi", said)
    alice = await team.agent("alice")
    kept = await alice.store(title="Okapi", content="The okapi is shy.", memory_type="adr")
    results = (await alice.search_global(query="okapi shy", limit=10))["results"]
    assert sorted(each["kind"] for each in results) == ["document", "session", "session", "session"]
    assert results[0]["id"] == kept["id"]


async def test_read_session_shows_the_chat_and_what_the_session_teaches(sync: SyncClient):
    await upload_script(sync, "fixed", script_with_fixed_error())
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id="fixed")
    shown = [(each["line"], each["role"], each["text"], each.get("tool")) for each in page["messages"]]
    assert shown == [
        (0, "user", "Start the importer", None),
        (1, "tool", "python importer.py", "Bash"),
        (2, "error", "ModuleNotFoundError: No module named 'yaml'", "Bash"),
        (3, "assistant", "PyYAML is missing from the virtual environment.", None),
        (4, "tool", "pip install pyyaml", "Bash"),
        (6, "tool", "python importer.py", "Bash"),
        (8, "assistant", "The importer runs now.", None),
    ]
    assert (page["offset"], page["next_offset"], page["total_lines"], page["has_more"]) == (0, 9, 9, False)
    summary = page["summary"]
    assert (summary["title"], summary["tool"], summary["cwd"]) == (
        "Start the importer",
        "claude-code",
        "/home/ann/shop",
    )
    assert summary["errors"] == [
        {
            "line": 2,
            "error": "ModuleNotFoundError: No module named 'yaml'",
            "command": "python importer.py",
            "fixed_at": 7,
            "followed": ["pip install pyyaml"],
        }
    ]
    assert summary["commands"][0] == {
        "command": "python importer.py",
        "runs": 2,
        "failures": 1,
        "exit_code": 0,
    }


async def test_read_session_pages_through_the_chat_without_gap_or_repeat(sync: SyncClient):
    long = TranscriptScript()
    for n in range(40):
        long.user(f"Question {n} " + "about the tide " * (n % 7 * 20)).run(f"step {n}", "x" * 3000)
    await upload_script(sync, "long", long)
    lines, offset = [], 0
    while True:
        page = await sync.read_session(
            workspace_id=sync.workspace["workspace_id"],
            session_id="long",
            offset=offset,
            limit=7,
            max_tokens=1000,
        )
        lines += [each["line"] for each in page["messages"]]
        assert page["next_offset"] > offset
        offset = page["next_offset"]
        if not page["has_more"]:
            break
    assert lines == [line for n in range(40) for line in (3 * n, 3 * n + 1)]


async def test_read_session_cuts_a_message_that_is_larger_than_the_page(sync: SyncClient):
    await upload_script(sync, "huge", TranscriptScript().user("word " * 10_000).assistant("short"))
    first = await sync.read_session(
        workspace_id=sync.workspace["workspace_id"], session_id="huge", max_tokens=500
    )
    shown = [(each["line"], each["text"][-1], each.get("cut")) for each in first["messages"]]
    assert shown == [(0, "…", True), (1, "t", None)]
    assert len(first["messages"][0]["text"]) < 4 * 500


async def test_read_session_reads_an_old_document_of_gemini_from_any_line(sync: SyncClient):
    text = (
        b'{\n  "sessionId": "g1",\n  "projectHash": "ab",\n  "messages": [\n    {\n      "id": "m1",\n'
        b'      "type": "user",\n      "content": "Hello"\n    },\n    {\n      "id": "m2",\n'
        b'      "type": "gemini",\n      "content": "Good day"\n    }\n  ]\n}\n'
    )
    await sync.upload("g1", text, tool="gemini-cli")
    named = {"workspace_id": sync.workspace["workspace_id"], "session_id": "g1"}
    whole = await sync.read_session(**named)
    assert [each["text"] for each in whole["messages"]] == ["Hello", "Good day"]
    rest = await sync.read_session(**named, offset=10)
    assert [each["text"] for each in rest["messages"]] == ["Good day"]


async def test_list_sessions_shows_the_title_and_times_of_the_transcript(sync: SyncClient):
    await upload_script(sync, "cart", CART)
    listed = await sync.list_sessions(workspace_id=sync.workspace["workspace_id"])
    [shown] = listed["sessions"]
    assert (shown["title"], shown["started_at"], shown["ended_at"]) == (
        "Why is the shopping cart empty after login?",
        "2026-08-20T10:00:00Z",
        "2026-08-20T10:00:01Z",
    )


async def test_sessions_of_an_older_parser_are_read_again(
    team: Team, sync: SyncClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(study_store, "STUDY_VERSION", STUDY_VERSION - 1)
    await upload_script(sync, "fixed", script_with_fixed_error())
    await upload_script(sync, "cart", CART)
    monkeypatch.undo()
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id="cart")
    assert "summary" not in page
    await sync.upload("cart", MENU.content, offset=len(CART.content))
    assert await search_places(sync, "menu accessible") == []
    await restudy_sessions(team.calls)
    assert await search_places(sync, "menu accessible") == [("cart", 2, "user")]
    assert await search_places(sync, "ModuleNotFoundError: No module named 'yaml'", limit=1) == [
        ("fixed", 2, "error")
    ]
    page = await sync.read_session(workspace_id=sync.workspace["workspace_id"], session_id="cart")
    assert page["summary"]["user_messages"] == 2
    assert await team.database.read(lambda tx: study_store.find_session_to_study(tx, STUDY_VERSION)) is None


async def test_search_sessions_forgets_the_least_telling_errors_of_a_session(team: Team, sync: SyncClient):
    words = [f"{first}{second}" for first in "abcdefghijklmno" for second in "pqrstuvwxyzabcd"]
    half = len(words) // 2
    first, rest = TranscriptScript(), TranscriptScript()
    for n, word in enumerate(words):
        (first if n < half else rest).run(
            f"make {word}", f"Exit code 2\nValueError: no {word} here", failed=True
        )
    await sync.upload("many", first.content)
    await sync.upload("many", rest.content, offset=len(first.content))
    counted = "select count(*) as n from session_error where project = $1"
    kept = await team.database.read(lambda tx: tx.one(counted, "shop"))
    assert kept is not None
    assert kept["n"] == 200
    assert await search_places(sync, f"ValueError: no {words[0]} here", limit=1) != [("many", 1, "error")]
    assert await search_places(sync, f"ValueError: no {words[-1]} here", limit=1) == [
        ("many", 2 * len(words) - 1, "error")
    ]


async def test_study_forgets_what_it_read_before(team: Team, sync: SyncClient):
    await upload_script(sync, "fixed", script_with_fixed_error())

    async def rows(tx: Tx) -> list[int]:
        counts = [
            await tx.one(f"select count(*) as n from {table} where project = $1", "shop")
            for table in ("session_passage", "session_error", "entry")
        ]
        return [row["n"] for row in counts if row]

    before = await team.database.read(rows)
    await team.database.write(
        lambda tx: tx.run("update session_study set behind = 1 where project = $1", "shop")
    )
    await restudy_sessions(team.calls)
    assert await team.database.read(rows) == before


async def test_search_sessions_finds_by_meaning_what_the_person_asked_for(team: Team, sync: SyncClient):
    await upload_script(sync, "cart", CART)
    await upload_script(sync, "menu", MENU)
    await team.calls.search.drain_queue()
    found = (await sync.search_sessions(query="basket loses its contents when a customer signs in"))[
        "matches"
    ]
    assert (found[0]["session_id"], found[0]["line"], found[0]["role"]) == ("cart", 0, "user")


async def test_search_sessions_prefers_the_session_that_was_asked_for_something(team: Team, sync: SyncClient):
    asked = TranscriptScript().user("Migrate the invoices to the new ledger").assistant("Done.")
    mentioned = (
        TranscriptScript()
        .user("Tidy up the docs")
        .assistant(
            "I read about how to migrate invoices to the new ledger, the ledger of invoices, and other pages."
        )
    )
    await upload_script(sync, "mentioned", mentioned)
    await upload_script(sync, "asked", asked)
    await team.calls.search.drain_queue()
    found = (await sync.search_sessions(query="migrate invoices to the new ledger"))["matches"]
    assert found[0]["session_id"] == "asked"


async def test_search_sessions_says_that_nothing_is_relevant(team: Team, sync: SyncClient):
    script = TranscriptScript().user("The cart loses its items when the page is reloaded, find out why.")
    script.assistant("The session cookie is not sent with the first request after a deploy.")
    await upload_script(sync, "cart", script)
    await team.calls.search.drain_queue()
    told = await sync.search_sessions(query="which wine goes with grilled salmon")
    assert told == {"matches": [], "truncated": False, "message": "Nothing relevant found."}
    found = await sync.search_sessions(query="why is the shopping basket empty after a refresh")
    assert [match["session_id"] for match in found["matches"]][:1] == ["cart"]
