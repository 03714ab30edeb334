"""kill -9 in the middle of an upload: it goes on where the stored bytes end, and nothing is lost or doubled."""

import hashlib
import http.client
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import product
from commonplace import zstd
from nemesis.soak import measure_own_memory
from patience import PATIENCE_SECONDS

MEGABYTE = 1024 * 1024
MAX_GROWTH_BYTES = 120 * MEGABYTE
"""Of parts of 16 MB: some copies of a part, and the modules and caches of a first upload, about 40 MB."""


def lines(size: int) -> Iterator[bytes]:
    """What an agent writes, mostly what its tools returned, until there is so much of it."""
    chance = random.Random(11)
    texts = [path.read_text() for path in sorted(Path(__file__).parent.glob("*.py"))]
    length = 0
    while length < size:
        text = chance.choice(texts)
        start = chance.randrange(len(text))
        passage = text[start : start + chance.randrange(200, 6000)]
        line = json.dumps(_line(chance, passage)).encode() + b"\n"
        length += len(line)
        yield line


def _line(chance: random.Random, text: str) -> dict[str, Any]:
    head = {
        "uuid": chance.randbytes(16).hex(),
        "sessionId": "6f1c2a",
        "timestamp": "2026-08-21T10:00:00.123Z",
    }
    if chance.random() < 0.2:
        said = {"role": "assistant", "content": [{"type": "text", "text": text[:300]}]}
        return head | {"type": "assistant", "message": said}
    returned = {"type": "tool_result", "tool_use_id": chance.randbytes(8).hex(), "content": text}
    return head | {"type": "user", "message": {"role": "user", "content": [returned]}}


class Uploader(threading.Thread):
    """Sends a transcript part by part from where the server says that it stands."""

    def __init__(self, server: product.Product, workspace: dict[str, str], whole: bytes, part: int) -> None:
        super().__init__(daemon=True)
        self.server, self.whole, self.part = server, whole, part
        self.url = f"/archives/{workspace['workspace_id']}/s-1"
        self.token = workspace["write_token"]
        self.acknowledged = self.start_at = self.stored()
        self.far = threading.Event()

    def stored(self) -> int:
        status, reply, _ = self.server.request("GET", self.url)
        return json.loads(reply)["bytes"] if status == 200 else 0

    def run(self) -> None:
        """Up to the middle, and one part more, in which the server is killed."""
        try:
            self.send_until(len(self.whole) // 2)
            self.far.set()
            self._send()
        except (OSError, http.client.HTTPException):
            return

    def send_until(self, end: int) -> None:
        while self.acknowledged < end:
            self._send()

    def _send(self) -> None:
        at = self.acknowledged
        raw = self.whole[at : at + self.part]
        headers = {
            "X-Write-Token": self.token,
            "Content-Encoding": "zstd",
            "Content-Range": f"bytes {at}-{at + len(raw) - 1}/*",
        }
        status, reply, _ = self.server.request("PUT", self.url, zstd.compress(raw), headers)
        assert status == 200, reply
        self.acknowledged = json.loads(reply)["bytes"]


class Watch(threading.Thread):
    """How much memory of its own the server has at most, as seen often."""

    def __init__(self, server: product.Product) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(server.process.pid)
        self._over = threading.Event()
        self.idle = self.most = measure_own_memory(self._process)

    def run(self) -> None:
        while not self._over.wait(0.02):
            self.most = max(self.most, measure_own_memory(self._process))

    def end(self) -> int:
        """By how much it grew."""
        self._over.set()
        self.join(PATIENCE_SECONDS)
        return self.most - self.idle


@pytest.mark.slow
def test_killed_upload_goes_on_where_the_stored_bytes_end(
    address: Path | str, tmp_path: Path, request: pytest.FixtureRequest
):
    long = request.config.getoption("--long")
    size, part = (200 * MEGABYTE, 16 * MEGABYTE) if long else (8 * MEGABYTE, MEGABYTE)
    whole = b"".join(lines(size))
    flags = product.store_flags(address, tmp_path / "client")
    with product.running(*flags) as server:
        workspace: dict[str, Any] = server.call(
            "register_workspace", machine="laptop", tool="claude-code", project="shop"
        )
        first = Uploader(server, workspace, whole, part)
        first.start()
        assert first.far.wait(2 * PATIENCE_SECONDS)
        server.kill()
        first.join(PATIENCE_SECONDS)
    with product.running(*flags) as server:
        watch = Watch(server)
        watch.start()
        second = Uploader(server, workspace, whole, part)
        assert first.acknowledged <= second.start_at < len(whole)
        second.send_until(len(whole))
        grown = watch.end()
        reply = json.loads(server.request("GET", second.url)[1])
        digest = hashlib.sha256(whole).hexdigest()
        assert (reply["bytes"], reply["sha256"], reply["lines"]) == (len(whole), digest, whole.count(b"\n"))
        assert server.request("GET", second.url, headers={"Range": "bytes=0-"})[1] == whole
        assert grown < MAX_GROWTH_BYTES
        assert server.stop() == 0
