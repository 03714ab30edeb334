"""A model service on loopback that says what a test wrote down, and records every request.

Each window of an agent program has an address of its own (`/<window>/...`), so its requests and steps stay apart. A
request that offers tools gets the next step of its window; one without (a title, a summary) gets a fixed text.
"""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from model_dialects import ANTHROPIC, CHAT, GEMINI, RESPONSES, Call, Dialect, ModelRequest, Reply, Say, Step

from patience import PATIENCE_SECONDS

SUMMARY_TEXT = "A summary of the conversation so far."
_SUMMARY = Say(f"<summary>{SUMMARY_TEXT}</summary><state_snapshot>{SUMMARY_TEXT}</state_snapshot>")


class Hold(NamedTuple):
    """The model thinks until the test sets `released`: what the window leased before stays leased."""

    released: threading.Event


ScriptStep = Step | Hold | Callable[[ModelRequest], Step]


@dataclass
class ModelWindow:
    """One conversation: its steps, and the requests that its program sent."""

    name: str
    steps: Iterator[ScriptStep] = field(default_factory=lambda: iter(()))
    requests: list[ModelRequest] = field(default_factory=list)
    asides: list[ModelRequest] = field(default_factory=list)
    """Requests that belong to no step: titles, summaries, classifiers."""
    held: threading.Event = field(default_factory=threading.Event)
    """Set when the model has reached a Hold."""
    is_aside: Callable[[ModelRequest], bool] = lambda _request: False
    subagents: dict[str, "ModelWindow"] = field(default_factory=dict)
    """Conversations of sub-agents, by a mark in their prompt."""

    def next_step(self, request: ModelRequest) -> Step:
        for mark, subagent in self.subagents.items():
            if any(mark in prompt for prompt in request.prompts):
                return subagent.next_step(request)
        if not request.tools or self.is_aside(request):
            self.asides.append(request)
            return _SUMMARY
        self.requests.append(request)
        step = next(self.steps, Say("Done."))
        if isinstance(step, Hold):
            self.held.set()
            if not step.released.wait(10 * PATIENCE_SECONDS):
                raise TimeoutError(f"nobody released {self.name}")
            step = next(self.steps, Say("Done."))
        return step(request) if callable(step) else step


class ScriptedModel:
    def __init__(self) -> None:
        self.windows: dict[str, ModelWindow] = {}
        self.unknown_paths: list[str] = []
        model = self

        class Handler(_ModelHandler):
            scripted_model = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_SECONDS)

    def url(self, window: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{window}"

    def script_subagent(self, window: str, mark: str, *steps: ScriptStep) -> ModelWindow:
        """Say what a sub-agent of this window does; its prompt contains the mark."""
        script = ModelWindow(f"{window} {mark}", iter(steps))
        self.windows.setdefault(window, ModelWindow(window)).subagents[mark] = script
        return script

    def script(self, window: str, *steps: ScriptStep) -> ModelWindow:
        """Say what the model does next in this window; earlier steps that were not reached are dropped."""
        script = self.windows.setdefault(window, ModelWindow(window))
        script.steps = iter(steps)
        return script


class _ModelHandler(BaseHTTPRequestHandler):
    scripted_model: ScriptedModel
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        _, window, path = self.path.partition("?")[0].split("/", 2)
        self._send(self._answer(window, path, content))

    def do_GET(self) -> None:
        self.scripted_model.unknown_paths.append(self.path)
        self._send(_json_reply({"data": [], "models": []}))

    def _answer(self, window: str, path: str, content: bytes) -> Reply:
        dialect = _find_dialect(path)
        script = self.scripted_model.windows.get(window)
        if dialect is None or script is None:
            self.scripted_model.unknown_paths.append(self.path)
            return _json_reply({"input_tokens": 100, "totalTokens": 100, "data": [], "models": []})
        body = json.loads(content)
        request = dialect.read_request(body)
        stream = bool(body.get("stream")) or "stream" in path
        return dialect.render_reply(request, script.next_step(request), stream)

    def _send(self, reply: Reply) -> None:
        content = reply.text.encode()
        self.send_response(200)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: Any) -> None:
        """Tests read `requests` instead of a log."""


def _find_dialect(path: str) -> Dialect | None:
    endings = {
        "/messages": ANTHROPIC,
        "/responses": RESPONSES,
        "/chat/completions": CHAT,
        ":generateContent": GEMINI,
        ":streamGenerateContent": GEMINI,
    }
    return next((dialect for ending, dialect in endings.items() if path.endswith(ending)), None)


def _json_reply(body: dict[str, Any]) -> Reply:
    return Reply("application/json", json.dumps(body))


__all__ = ["Call", "Hold", "ModelRequest", "ModelWindow", "Say", "ScriptedModel"]
