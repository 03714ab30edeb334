"""Descriptions by a model: asked over HTTP as such servers are, never beyond the budget, and only when told to."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from commonplace import errors
from commonplace.librarian.endpoint import ModelEndpoint
from commonplace.librarian.enrich import Enrichment, EnrichmentRun, start_librarian_session

GOOD_ANSWER = json.dumps({"summary": "Waits with growing pauses.", "gotchas": ["Sleeps in the thread."]})


@dataclass
class Model:
    """A real server on loopback that speaks both protocols and remembers what it was sent."""

    port: int = 0
    answer: str = GOOD_ANSWER
    status: int = 200
    counts: bool = True
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reply(self, path: str) -> dict[str, Any]:
        if path == "/v1/chat/completions":
            usage = {"prompt_tokens": 200, "completion_tokens": 20} if self.counts else None
            return {"choices": [{"message": {"content": self.answer}}], "usage": usage}
        usage = {"input_tokens": 200, "output_tokens": 20}
        return {"content": [{"type": "text", "text": self.answer}], "usage": usage}


@pytest.fixture
def model() -> Iterator[Model]:
    served = Model()

    class Speaks(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            served.requests.append((self.path, headers, body))
            reply = json.dumps(served.reply(self.path)).encode()
            self.send_response(served.status)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Speaks) as server:
        served.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield served
        server.shutdown()
        thread.join()


async def _queue_functions(team, n: int) -> None:
    functions = [
        {
            "name": f"f{index:02}",
            "file": "a.py",
            "kind": "function",
            "language": "python",
            "line": 1,
            "end_line": 2,
            "signature": f"def f{index:02}()",
            "body": "b",
            "digest": "d",
            "code": f"def f{index:02}():\n    sleep()",
        }
        for index in range(n)
    ]
    await team.anyone().sync_functions(project="shop", functions=functions)


async def _run_enrichment(
    call, choice: str, budget: int = 100_000, *, dry: bool = False, key: str = ""
) -> EnrichmentRun:
    def run_in_thread() -> EnrichmentRun:
        within, end = start_librarian_session(call, "shop")
        enrichment = Enrichment(within, "shop", budget)
        run = (
            enrichment.plan_run()
            if dry
            else enrichment.run(ModelEndpoint(choice, key), lambda _done, _all: None)
        )
        end()
        return run

    return await asyncio.to_thread(run_in_thread)


async def test_enrich_asks_an_openai_compatible_server_and_keeps_its_answers(team, call, model):
    await _queue_functions(team, 2)
    run = await _run_enrichment(call, f"{model.url}/v1#qwen", key="sesame")
    assert run == EnrichmentRun(described=2, waiting=2, prompt_tokens=400, completion_tokens=40)
    assert run.compute_cost((1.0, 5.0)) == pytest.approx(0.0006)
    path, headers, body = model.requests[0]
    assert (path, headers["authorization"], body["model"]) == (
        "/v1/chat/completions",
        "Bearer sesame",
        "qwen",
    )
    assert "def f00():\n    sleep()" in body["messages"][1]["content"]
    alice = await team.agent("alice")
    [match, _] = (await alice.find_function(query="growing pauses"))["results"]
    assert (match["purpose"], match["gotchas"]) == ("Waits with growing pauses.", "Sleeps in the thread.")
    assert (await alice.get_enrichment_queue())["pending_count"] == 0


async def test_enrich_asks_anthropic_in_its_own_protocol(team, call, model):
    await _queue_functions(team, 1)
    assert (await _run_enrichment(call, f"anthropic+{model.url}#claude", key="sesame")).described == 1
    path, headers, body = model.requests[0]
    assert (path, headers["x-api-key"], headers["anthropic-version"]) == (
        "/v1/messages",
        "sesame",
        "2023-06-01",
    )
    assert (body["model"], body["messages"][0]["role"], body["max_tokens"]) == ("claude", "user", 300)


@pytest.mark.parametrize("counts", [True, False])
async def test_enrich_stops_before_the_budget_is_passed(team, call, model, counts):
    await _queue_functions(team, 9)
    model.counts = counts
    run = await _run_enrichment(call, f"{model.url}/v1#qwen", budget=1500)
    assert run.over_budget
    assert 0 < run.described < 9
    assert run.total_tokens <= 1500
    assert len(model.requests) == run.described


async def test_enrich_with_no_budget_sends_nothing(team, call, model):
    await _queue_functions(team, 1)
    assert await _run_enrichment(call, f"{model.url}/v1#qwen", budget=10) == EnrichmentRun(
        waiting=1, over_budget=True
    )
    assert model.requests == []


async def test_enrich_dry_run_says_what_it_would_cost_and_sends_nothing(team, call, model):
    await _queue_functions(team, 60)
    run = await _run_enrichment(call, f"{model.url}/v1#qwen", dry=True, budget=10**6)
    assert (run.described, run.waiting, run.completion_tokens, run.over_budget) == (60, 60, 60 * 300, False)
    assert run.prompt_tokens > 60 * 100
    assert model.requests == []
    assert (await (await team.agent("al")).get_enrichment_queue())["pending_count"] == 60


async def test_enrich_counts_answers_that_are_no_description_and_goes_on(team, call, model):
    await _queue_functions(team, 3)
    model.answer = "I would rather not."
    assert await _run_enrichment(call, f"{model.url}/v1#qwen") == EnrichmentRun(
        failed=3, waiting=3, prompt_tokens=600, completion_tokens=60
    )
    assert len(model.requests) == 3


async def test_enrich_leaves_out_what_has_no_source_text(team, call, model):
    alice = await team.agent("alice")
    await alice.register_function(name="f", file_path="a.py", purpose="Does f.")
    assert await _run_enrichment(call, f"{model.url}/v1#qwen") == EnrichmentRun(without_code=1, waiting=1)
    assert model.requests == []


@pytest.mark.parametrize("status", [302, 401, 429, 500])
async def test_enrich_a_server_that_refuses_ends_the_run(team, call, model, status):
    await _queue_functions(team, 3)
    model.status = status
    with pytest.raises(errors.Unavailable):
        await _run_enrichment(call, f"{model.url}/v1#qwen")
    assert len(model.requests) == 1


@pytest.mark.parametrize("choice", ["", "qwen", "http://127.0.0.1:1/v1", "file:///etc/passwd#x", "anthropic"])
def test_enrich_refuses_what_names_no_model(choice):
    with pytest.raises(errors.Invalid):
        ModelEndpoint(choice, "")
