"""Vectors: made in the background, found beside words, and the words go on without them."""

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.search import embedder, index
from patience import PATIENCE_SECONDS

IDLE = "PgBouncer closes server sockets that nobody used for ten minutes."
ASKED = "connection dropped when idle"


def ids(answer):
    return [each["id"] for each in answer.get("results", [])]


def other(team, **settings):
    """The same store, opened by a server with other settings."""
    calls = Calls(team.database, CATALOGUE, replace(Settings(), **settings), team.clock)
    return replace(team, calls=calls)


async def test_query_finds_by_meaning_what_shares_no_word(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="PgBouncer", content=IDLE)
    await alice.store(title="Colours", content="The button of the shop is green.", memory_type="adr")
    assert ids(await alice.query(query=ASKED)) == []
    await team.calls.search.drain_queue()
    found = await alice.query(query=ASKED)
    assert ids(found)[0] == made["id"]
    assert found["results"][0]["why"].startswith("meaning 0.")


async def test_start_session_gives_a_learning_that_shares_no_word_with_the_task(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="PgBouncer", content=IDLE)
    for n in range(6):
        await alice.record_learning(
            topic=f"Colour {n}", content=f"The button number {n} of the shop is green."
        )
    await team.calls.search.drain_queue()
    bob = await team.agent("bob", task_description=ASKED)
    assert bob.started["learnings"][0]["id"] == made["id"]


@pytest.mark.slow
async def test_query_finds_a_passage_deep_in_a_long_document(team):
    alice = await team.agent("alice")
    filler = "The shop sells apples and pears to people of the town. " * 100
    told = f"{IDLE} Clients then see a broken pipe on their next statement. " * 7
    made = await alice.store(title="Notes", content=f"{filler}\n\n{told}\n\n{filler}", memory_type="adr")
    await team.calls.search.drain_queue()
    found = await alice.query(query=ASKED, detail="snippet")
    assert ids(found) == [made["id"]]
    assert "broken pipe" in found["results"][0]["content"]


async def test_query_does_not_find_by_meaning_what_is_archived_or_foreign(team):
    alice, bob = await team.agent("alice"), await team.agent("bob", project="bank")
    made = await alice.record_learning(topic="PgBouncer", content=IDLE)
    await team.calls.search.drain_queue()
    assert ids(await bob.query(query=ASKED)) == []
    await alice.change_status(doc_id=made["id"], new_status="archived")
    assert ids(await alice.query(query=ASKED)) == []
    assert ids(await alice.query(query=ASKED, include_inactive=True)) == [made["id"]]


async def test_rewritten_document_is_found_by_its_present_meaning_only(team):
    alice = await team.agent("alice")
    made = await alice.store(title="Note", content=IDLE, memory_type="adr")
    await team.calls.search.drain_queue()
    await alice.store(title="Note", content="The button is green.", memory_type="adr", force_store=True)
    await team.calls.search.drain_queue()
    assert ids(await alice.query(query=ASKED)) == []
    assert ids(await alice.query(query="which colour has the control?")) == [made["id"]]


@pytest.mark.slow
async def test_queue_survives_a_restart_and_is_emptied_by_the_next_server(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="PgBouncer", content=IDLE)
    assert await team.database.read(index.count_queued_entries) == 1
    again = other(team)
    await again.calls.search.drain_queue()
    assert await team.database.read(index.count_queued_entries) == 0
    assert ids(await alice.query(query=ASKED)) == [made["id"]]


@pytest.mark.slow
async def test_server_embeds_by_itself_once_opened(team, eventually):
    alice = await team.agent("alice")
    await team.calls.search.open()
    try:
        made = await alice.record_learning(topic="PgBouncer", content=IDLE)

        async def found():
            return ids(await alice.query(query=ASKED)) == [made["id"]]

        await eventually(found)
    finally:
        await team.calls.search.close()


async def test_embeddings_off_searches_by_words_and_makes_no_vectors(team):
    quiet = other(team, embeddings="off")
    alice = await quiet.agent("alice")
    made = await alice.record_learning(topic="PgBouncer", content=IDLE)
    await quiet.calls.search.open()
    await quiet.calls.search.close()
    assert (await quiet.anyone().health())["search"] == {"ok": True, "pending": 0}
    assert ids(await alice.query(query="pgbouncer")) == [made["id"]]


async def test_embeddings_turned_on_again_make_the_vectors_of_what_came_meanwhile(team):
    made = await (await other(team, embeddings="off").agent("alice")).record_learning(
        topic="PgBouncer", content=IDLE
    )
    await team.calls.search.drain_queue()
    assert ids(await (await team.agent("bob")).query(query=ASKED)) == [made["id"]]


@pytest.fixture
def endpoint():
    """A server that speaks the embeddings interface: a text's vector says which of three words it has."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            rows = [
                {
                    "index": n,
                    "embedding": [0.1, *(float(word in text) for word in ("walrus", "otter", "seal"))],
                }
                for n, text in enumerate(asked["input"])
            ]
            body = json.dumps({"data": rows[::-1]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1#toy"
    server.shutdown()
    thread.join(PATIENCE_SECONDS)
    server.server_close()


async def test_endpoint_takes_the_place_of_the_model(team, endpoint):
    other_team = other(team, embeddings=endpoint)
    alice = await other_team.agent("alice")
    made = await alice.record_learning(topic="Animal", content="A walruslike thing.")
    await alice.record_learning(topic="Animal two", content="An otterish thing.")
    await other_team.calls.search.drain_queue()
    assert ids(await alice.query(query="walrus")) == [made["id"]]


@pytest.mark.slow
async def test_change_of_model_keeps_the_old_vectors_in_use_until_all_are_made_again(team, endpoint):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="PgBouncer", content=IDLE)
    await team.calls.search.drain_queue()
    moved = other(team, embeddings=endpoint)
    carol = await moved.agent("carol")
    assert ids(await carol.query(query=ASKED)) == [made["id"]]
    await moved.calls.search.drain_queue()

    async def models(tx):
        return [row["model"] for row in await tx.all("select distinct model from embedding")]

    assert await team.database.read(models) == [endpoint]


async def test_endpoint_that_is_away_leaves_words_and_the_queue(team):
    away = other(team, embeddings="http://127.0.0.1:9/v1#none")
    alice = await away.agent("alice")
    made = await alice.record_learning(topic="PgBouncer", content=IDLE)
    await away.calls.search.open()
    assert ids(await alice.query(query="pgbouncer")) == [made["id"]]
    await away.calls.search.close()
    assert await team.database.read(index.count_queued_entries) == 1


async def test_text_that_the_model_cannot_read_has_no_vector_and_is_found_by_words(team):
    alice = await team.agent("alice")
    note = await alice.record_learning(
        topic="连接池", content="默认的连接池大小是十个连接。空闲十分钟后关闭。"
    )
    await alice.store(title="Colours", content="The button of the shop is green.", memory_type="adr")
    await team.calls.search.drain_queue()
    found = await alice.query(query="连接池大小")
    assert [result["id"] for result in found["results"]] == [note["id"]]
    assert "meaning" not in found["results"][0]["why"]


async def test_short_notes_do_not_wait_behind_long_documents(team):
    alice = await team.agent("alice")
    for n in range(20):
        text = " ".join(f"word{n}x{m}" for m in range(300))
        await alice.store(title=f"Long {n}", content=text, memory_type="adr")
    await alice.record_learning(topic="PgBouncer", content=IDLE)
    queued = await team.database.read(lambda tx: embedder.list_queued_entries(tx, team.clock(), 64, 1))
    entry = await team.database.read(
        lambda tx: tx.one(
            "select title from entry where project = $1 and n = $2", queued[0]["project"], queued[0]["n"]
        )
    )
    assert entry["title"] == "PgBouncer"
