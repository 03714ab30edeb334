"""commonplace distill, against a real local server that speaks the model's protocol."""

import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import product
from patience import PATIENCE_SECONDS


class Model(http.server.BaseHTTPRequestHandler):
    """Answers chat completions with a fixed document and remembers what it was asked."""

    asked: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        text = "Carts live in Redis\n\nDecided: carts expire after a day. Open: migration."
        body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silence."""


@pytest.fixture
def model() -> Iterator[str]:
    Model.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1#tiny"
        server.shutdown()


def distill(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        product.command("distill", *arguments), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False,
        env=product.environment(),
    )  # fmt: skip


def board(server: product.Product) -> str:
    made = server.call("create_session", purpose="Where do carts live?", project="shop", agent_id="ann")[
        "session_id"
    ]
    server.call("add_message", session_id=made, content="Redis, with a day of expiry", agent_id="ann")
    server.call("add_private_note", session_id=made, content="I doubt it", agent_id="ann")
    return made


def test_distill_keeps_a_draft_for_review(address: Path | str, tmp_path: Path, model: str):
    flags = product.store_flags(address, tmp_path / "client")
    with product.running(*flags) as server:
        made = board(server)
        early = distill(made, "--project", "shop", "--model", model, *flags)
        assert (early.returncode, Model.asked) == (6, [])
        server.call("close_session", session_id=made, agent_id="ann")
        priced = distill(made, "--project", "shop", "--model", model, "--dry-run", *flags)
        assert ("Nothing was sent" in priced.stdout, Model.asked) == (True, [])
        kept = distill(made, "--project", "shop", "--model", model, *flags)
        document = kept.stdout.split()[1]
        ann = server.call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
        found = server.call("memory_get_by_id", session_id=ann, doc_id=document)
    sent = Model.asked[0]["messages"][1]["content"]
    assert ("Redis, with a day" in sent, "I doubt it" in sent) == (True, False)
    assert (found["title"], found["status"]) == ("Carts live in Redis", "review_pending")
