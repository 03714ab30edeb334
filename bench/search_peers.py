"""Other memory servers, installed from the registry into environments of their own and asked over MCP (stdio).

mcp-memory-service gets the vectors of the same model as Commonplace, from an endpoint of this process, because its own
model would be downloaded at run time. basic-memory searches by words; its vectors need a download and are left out.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil

from bench.search_sets import BenchDocument, BenchQuestion, SearchSet
from bench.search_systems import SystemAnswer
from commonplace.search.embed import load_model

_PATIENCE_SECONDS = 120
_RECOGNIZED_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class PeerPackage:
    name: str
    requirements: tuple[str, ...]
    python: str
    """The oldest Python that it runs on."""
    loads_extensions: bool = False
    """Does it need a Python whose SQLite loads extensions?"""


MEMORY_SERVICE = PeerPackage(
    "mcp-memory-service", ("mcp-memory-service==12.2.0",), "3.11", loads_extensions=True
)
BASIC_MEMORY = PeerPackage("basic-memory", ("basic-memory==0.18.5", "fastmcp==2.12.3"), "3.12")


def install_peer(package: PeerPackage, folder: Path) -> Path:
    """The folder of its programs; installed once. Raises CalledProcessError or FileNotFoundError where it cannot be."""
    home = folder / package.name
    programs = home / "bin"
    if not (home / "installed").exists():
        uv = [str(Path(sys.executable).with_name("uv"))]
        subprocess.run([*uv, "venv", "-q", "--python", _find_python(package), str(home)], check=True)
        python = str(programs / "python")
        subprocess.run([*uv, "pip", "install", "-q", "--python", python, *package.requirements], check=True)
        (home / "installed").touch()
    return programs


def _find_python(package: PeerPackage) -> str:
    """The first of this Python, those of the system and those of pyenv that the package runs on."""
    check = f"import sys; assert sys.version_info >= {tuple(map(int, package.python.split('.')))}"
    if package.loads_extensions:
        check += "; import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
    system = [
        found for minor in range(11, 15) if (found := shutil.which(f"python3.{minor}", path="/usr/bin"))
    ]
    pyenv = sorted(map(str, Path.home().glob(".pyenv/versions/3.*/bin/python")))
    for python in (sys.executable, *system, *pyenv):
        if subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0:
            return python
    raise FileNotFoundError(f"no Python {package.python} or newer that it runs on")


class StdioServer:
    """A server that speaks MCP over its standard streams, and the CPU time of its processes."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._command, self._environment, self._id = command, environment, 0

    async def open(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | self._environment,
            limit=2**26,
        )
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        await self._ask("initialize", hello)
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call_tool(self, name: str, **arguments: Any) -> tuple[str, float]:
        """The text of the reply, and the CPU seconds that it took."""
        before = self._count_cpu_seconds()
        result = await self._ask("tools/call", {"name": name, "arguments": arguments})
        text = "\n".join(block.get("text", "") for block in result.get("content", []))
        if result.get("isError"):
            raise RuntimeError(f"{name}: {text[:300]}")
        return text, self._count_cpu_seconds() - before

    async def close(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def _count_cpu_seconds(self) -> float:
        process = psutil.Process(self._process.pid)
        times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
        return sum(each.user + each.system for each in times)

    async def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        await self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": parameters})
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while line := await self._process.stdout.readline():
                if line.startswith(b"{") and (message := json.loads(line)).get("id") == self._id:
                    if "error" in message:
                        raise RuntimeError(f"{method}: {message['error']}")
                    return message["result"]
        raise RuntimeError(f"{method}: the server ended")

    async def _send(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()


class _Peer:
    """Results are recognized by the beginning of each document in the reply, in their order."""

    name = ""

    async def fill(self, searched: SearchSet) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="commonplace-bench-")
        self._marks = {document.id: self._mark(document) for document in searched.documents}
        try:
            await self._start(Path(self._folder.name))
            for document in searched.documents:
                await self._store(document)
        except BaseException:
            await self.close()
            raise

    async def ask(self, question: BenchQuestion, limit: int | None) -> SystemAnswer:
        reply, seconds = await self._search(question.text, limit)
        places = {name: reply.find(mark) for name, mark in self._marks.items() if mark in reply}
        found = sorted(places, key=lambda name: places[name])
        return SystemAnswer([frozenset((name,)) for name in found], reply, seconds)

    async def close(self) -> None:
        await self._server.close()
        self._folder.cleanup()

    def _mark(self, document: BenchDocument) -> str:
        return document.title[:_RECOGNIZED_CHARACTERS]

    async def _start(self, folder: Path) -> None:
        raise NotImplementedError

    async def _store(self, document: BenchDocument) -> None:
        raise NotImplementedError

    async def _search(self, question: str, limit: int | None) -> tuple[str, float]:
        raise NotImplementedError


class GroupedPeer:
    """One server for each group of a set, because a peer searches all that it has."""

    def __init__(self, build: Callable[[], _Peer]) -> None:
        self._build, self.name = build, build().name

    async def fill(self, searched: SearchSet) -> None:
        self._peers: dict[str, _Peer] = {}
        for group in sorted({document.group for document in searched.documents}):
            peer = self._build()
            try:
                await peer.fill(
                    SearchSet(searched.name, [each for each in searched.documents if each.group == group])
                )
            except BaseException:
                await self.close()
                raise
            self._peers[group] = peer

    async def ask(self, question: BenchQuestion, limit: int | None) -> SystemAnswer:
        peer = self._peers.get(question.group) or next(iter(self._peers.values()))
        return await peer.ask(question, limit)

    async def close(self) -> None:
        for peer in self._peers.values():
            await peer.close()


class MemoryService(_Peer):
    name = "mcp-memory-service 12.2.0, same model"

    def __init__(self, programs: Path) -> None:
        self._programs = programs

    async def _start(self, folder: Path) -> None:
        self._endpoint = EmbeddingEndpoint()
        environment = {
            "MCP_MEMORY_BASE_DIR": str(folder),
            "MCP_MEMORY_SQLITE_PATH": str(folder / "memory.db"),
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_EXTERNAL_EMBEDDING_URL": self._endpoint.url,
            "MCP_EXTERNAL_EMBEDDING_MODEL": "bge-small-en-v1.5",
            "MCP_SEMANTIC_DEDUP_ENABLED": "false",
            "MCP_MDNS_ENABLED": "false",
            "HF_HUB_OFFLINE": "1",
        }
        self._server = StdioServer([str(self._programs / "memory"), "server"], environment)
        await self._server.open()

    async def _store(self, document: BenchDocument) -> None:
        content = "\n".join((document.title, document.text, *document.files))
        await self._server.call_tool("memory_store", content=content, conversation_id=document.id)

    async def _search(self, question: str, limit: int | None) -> tuple[str, float]:
        some = {} if limit is None else {"limit": limit}
        before = self._endpoint.cpu_seconds
        reply, seconds = await self._server.call_tool("memory_search", query=question, mode="hybrid", **some)
        return reply, seconds + self._endpoint.cpu_seconds - before

    async def close(self) -> None:
        await super().close()
        self._endpoint.close()


class BasicMemory(_Peer):
    name = "basic-memory 0.18.5, words"

    def __init__(self, programs: Path) -> None:
        self._programs = programs

    async def _start(self, folder: Path) -> None:
        environment = {"HOME": str(folder), "BASIC_MEMORY_HOME": str(folder / "notes")}
        self._server = StdioServer([str(self._programs / "basic-memory"), "mcp"], environment)
        await self._server.open()

    async def _store(self, document: BenchDocument) -> None:
        content = "\n".join((document.text, *document.files))
        await self._server.call_tool(
            "write_note", title=document.title, content=content, directory="notes", project="main"
        )

    async def _search(self, question: str, limit: int | None) -> tuple[str, float]:
        """Any of the words: with its default, a note must have all of them, and hardly any question finds one."""
        words = " OR ".join(dict.fromkeys(word for word in question.split() if word.isalnum())) or question
        some = {} if limit is None else {"page_size": limit}
        return await self._server.call_tool("search_notes", query=words, project="main", **some)


class EmbeddingEndpoint:
    """The bundled model behind the interface of OpenAI, on loopback."""

    def __init__(self) -> None:
        self.cpu_seconds = 0.0
        model = load_model("on")
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
                began = time.thread_time()
                vectors = model.embed(texts)
                endpoint.cpu_seconds += time.thread_time() - began
                rows = [{"index": n, "embedding": vector.tolist()} for n, vector in enumerate(vectors)]
                body = json.dumps({"data": rows, "model": asked.get("model", "")}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1/embeddings"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
