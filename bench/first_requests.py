"""python -m bench.first_requests: how long the first request of each kind holds the event loop after a start.

The server runs in this process. The figure is the CPU time of the longest callback on its loop while the request is
served, which does not depend on the machine's load. Anything over 5 ms makes every other client wait.
"""

import argparse
import asyncio
import http.client
import json
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from commonplace import server
from commonplace.config import Settings

LIMIT_MILLISECONDS = 5.0
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
CALLS: dict[str, dict[str, Any]] = {
    "memory_start_session": {"project": "shop"},
    "memory_get_locks": {},
    "memory_lock_files": {"files": ["src/cart.py"]},
    "memory_update_work": {"title": "Edits", "status": "in_progress", "files_touched": ["src/cart.py"]},
    "memory_record_learning": {"topic": "Carts", "content": "They expire after a day."},
    "memory_query": {"query": "carts"},
    "memory_heartbeat": {},
    "memory_send_message": {"to_instance": "*", "message": "Hello."},
    "memory_add_backlog_item": {"title": "Tax"},
    "memory_end_session": {"summary": "Done"},
}


class LoopProbe:
    """The CPU time of the longest callback of the event loop since the last reading."""

    def __init__(self) -> None:
        self.longest_seconds = 0.0
        self._run_callback = asyncio.Handle._run  # noqa: SLF001 - asyncio has no public way to time callbacks

    def install(self) -> None:
        run_callback = self._run_callback

        def run_timed(handle: asyncio.Handle) -> None:
            before = time.thread_time()
            run_callback(handle)
            self.longest_seconds = max(self.longest_seconds, time.thread_time() - before)

        asyncio.Handle._run = run_timed  # type: ignore[method-assign]  # noqa: SLF001 - as above

    def take_milliseconds(self) -> float:
        longest, self.longest_seconds = self.longest_seconds, 0.0
        return 1e3 * longest


class FirstRequests:
    def __init__(self, url: str, probe: LoopProbe) -> None:
        self._authority, self._probe = url.partition("://")[2], probe
        self._session: dict[str, str] = {}

    def run(self) -> None:
        try:
            self._measure_lists()
            for operation, arguments in CALLS.items():
                reply = self._measure(operation, f"/api/{operation}", arguments | self._session)
                if operation == "memory_start_session":
                    self._session = {"session_id": reply["session_id"]}
            self._measure(
                "the same again: memory_start_session", "/api/memory_start_session", {"project": "shop"}
            )
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    def _measure_lists(self) -> None:
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
        modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
        for path in ("/mcp", "/mcp/x/core", "/mcp/readonly"):
            self._measure(f"tools/list of {path}", path, listing, modern)
        initialize = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        }
        self._measure("initialize (2025-11-25)", "/mcp", initialize)

    def _measure(
        self, what: str, path: str, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        self._take_longest()
        accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        text = self._send("POST", path, json.dumps(body), accept | (headers or {}))
        longest = self._take_longest()
        mark = "  over the limit" if longest > LIMIT_MILLISECONDS else ""
        print(f"{what:44}{longest:8.1f} ms{mark}", flush=True)
        return json.loads(text) if text.startswith(b"{") else {}

    def _take_longest(self) -> float:
        """An answer may arrive before its callback has returned; the answer to a second request does not."""
        self._send("GET", "/health")
        return self._probe.take_milliseconds()

    def _send(self, method: str, path: str, body: str = "", headers: dict[str, str] | None = None) -> bytes:
        connection = http.client.HTTPConnection(self._authority, timeout=30)
        connection.request(method, path, body or None, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status == http.HTTPStatus.OK, text
        return text


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    probe = LoopProbe()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), port=0)

        def announce(url: str) -> None:
            probe.install()
            threading.Thread(target=FirstRequests(url, probe).run).start()

        asyncio.run(server.serve_http(settings, announce))


if __name__ == "__main__":
    main()
