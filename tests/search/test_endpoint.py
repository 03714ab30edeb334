"""An endpoint that hangs, errs or changes: searches go on by words, and nothing is lost for good."""

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from commonplace import errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.search import embed, engine, index
from patience import PATIENCE_SECONDS

ANIMALS = ("walrus", "otter", "seal")


class Endpoint:
    """Speaks the embeddings interface: a text's vector says which animals it names, in `width` more numbers."""

    def __init__(self) -> None:
        self.status, self.refused, self.width, self.filler = 200, "", 1, 0.1
        self.asked = 0
        self.going = threading.Event()
        self.going.set()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                endpoint.asked += 1
                endpoint.going.wait(PATIENCE_SECONDS)
                refuses = endpoint.refused and any(endpoint.refused in text for text in texts)
                self.send_response(400 if refuses else endpoint.status)
                self.end_headers()
                self.wfile.write(endpoint.answer(texts))

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.choice = f"http://127.0.0.1:{self.server.server_port}/v1#toy"

    def answer(self, texts: list[str]) -> bytes:
        spare = [self.filler] * self.width
        rows = [
            {"index": n, "embedding": [*spare, *(float(word in text) for word in ANIMALS)]}
            for n, text in enumerate(texts)
        ]
        return json.dumps({"data": rows}).encode()


@pytest.fixture
def endpoint():
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.going.set()
    made.server.shutdown()
    thread.join(PATIENCE_SECONDS)
    made.server.server_close()


@pytest.fixture
def zoo(team, endpoint, monkeypatch):
    """The team, with its vectors made by the endpoint."""
    monkeypatch.setattr(embed.EndpointModel, "patience", PATIENCE_SECONDS)
    calls = Calls(team.database, CATALOGUE, replace(Settings(), embeddings=endpoint.choice), team.clock)
    return replace(team, calls=calls)


@pytest.fixture
async def alice(zoo):
    return await zoo.agent("alice")


@pytest.fixture
async def walrus(zoo, alice):
    """The id of a document that has its vector."""
    made = await alice.store(title="Animal", content="A walruslike thing.", memory_type="adr")
    await zoo.calls.search.drain_queue()
    return made["id"]


async def found(alice, question):
    return [each["id"] for each in (await alice.query(query=question, limit=20)).get("results", [])]


async def search_health(zoo):
    return (await zoo.anyone().health())["search"]


async def test_endpoint_that_hangs_is_asked_once_and_words_answer(
    zoo, alice, walrus, endpoint, monkeypatch, eventually
):
    monkeypatch.setattr(embed.EndpointModel, "patience", 0.05)
    asked = endpoint.asked
    endpoint.going.clear()
    assert await found(alice, "thing one") == [walrus]
    assert await found(alice, "thing two") == [walrus]
    await eventually(lambda: endpoint.asked > asked)
    assert endpoint.asked == asked + 1
    assert (await search_health(zoo))["ok"] is False


async def test_endpoint_that_hung_is_asked_again_after_its_rest(zoo, alice, walrus, endpoint, monkeypatch):
    monkeypatch.setattr(engine, "_REST_SECONDS", 0.0)
    with monkeypatch.context() as hurried:
        hurried.setattr(embed.EndpointModel, "patience", 0.05)
        endpoint.going.clear()
        assert await found(alice, "walrus") == []
    endpoint.going.set()
    assert await found(alice, "walrus") == [walrus]
    assert await search_health(zoo) == {"ok": True, "pending": 0}


@pytest.mark.parametrize("filler", [float("nan"), float("inf"), None, "much"])
async def test_vector_that_is_none_leaves_the_words(alice, walrus, endpoint, filler):
    endpoint.filler = filler
    assert await found(alice, "thing walrus") == [walrus]


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b'{"data": []}', b'{"data": [{"index": 0, "embedding": []}]}']
)
async def test_answer_without_vectors_leaves_the_words_and_the_queue(
    zoo, alice, walrus, endpoint, monkeypatch, answer
):
    monkeypatch.setattr(endpoint, "answer", lambda _: answer)
    assert await found(alice, "thing walrus") == [walrus]
    await alice.store(title="Swimmer", content="An otterish thing.", memory_type="adr")
    with pytest.raises(errors.Unavailable):
        await zoo.calls.search.drain_queue()
    assert await zoo.database.read(index.count_queued_entries) == 1


async def test_vectors_of_another_length_are_all_made_again(zoo, alice, walrus, endpoint):
    endpoint.width = 3
    assert await found(alice, "walrus") == []
    assert (await search_health(zoo))["ok"] is False
    otter = await alice.store(title="Swimmer", content="An otterish thing.", memory_type="adr")
    await zoo.calls.search.drain_queue()
    again = replace(zoo, calls=Calls(zoo.database, CATALOGUE, zoo.calls.settings, zoo.clock))
    bob = await again.agent("bob")
    assert await found(bob, "walrus") == [walrus]
    assert await found(bob, "otter") == [otter["id"]]


async def test_text_that_the_endpoint_refuses_holds_up_no_other(zoo, alice, endpoint):
    endpoint.refused = "poison"
    contents = [
        f"Number {n} is an {'otterish' if n % 2 else 'odd'} {'poison' if n == 4 else 'thing'}."
        for n in range(9)
    ]
    for n, content in enumerate(contents):
        await alice.store(title=f"Note {n}", content=content, memory_type="adr")
    await zoo.calls.search.drain_queue()
    assert await search_health(zoo) == {"ok": True, "pending": 0, "without_vectors": 1}
    assert len(await found(alice, "otter")) == 4
    assert len(await found(alice, "poison")) == 1


async def test_endpoint_that_refuses_everything_loses_nothing(zoo, alice, endpoint):
    endpoint.status = 400
    for n in range(3):
        await alice.store(title=f"Note {n}", content=f"The walruslike thing number {n}.", memory_type="adr")
    with pytest.raises(errors.Unavailable):
        await zoo.calls.search.drain_queue()
    assert await search_health(zoo) == {"ok": True, "pending": 3}


async def test_health_is_not_well_while_vectors_cannot_be_made(zoo, alice, endpoint, eventually):
    endpoint.status = 401
    await alice.store(title="Animal", content="A walruslike thing.", memory_type="adr")
    await zoo.calls.search.open()
    try:

        async def is_told():
            return not (await search_health(zoo))["ok"]

        await eventually(is_told)
        shown = await search_health(zoo)
        assert "401" in shown.pop("problem")
        assert shown == {"ok": False, "pending": 1}
    finally:
        await zoo.calls.search.close()
