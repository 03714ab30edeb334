"""What `bench.search_quality` compares: plain FTS5, and Commonplace on either store, with and without vectors.

Each system takes documents, then answers questions with the ids of what it found, best first, and the text of the reply
that an agent would have to read.
"""

import json
import re
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import apsw

from bench.retrieval import call_operation, close_product, open_product
from bench.search_sets import BenchDocument, BenchQuestion, SearchSet
from bench.vector_cache import CachedModel
from commonplace import access, errors
from commonplace.config import Settings
from commonplace.rooms.archives.operations import upload_bytes
from commonplace.search.text import STOP_WORDS

RESULTS = 10


@dataclass(frozen=True, slots=True)
class SystemAnswer:
    ids: list[frozenset[str]]
    """For each result, the documents of the set that it stands for."""
    reply: str
    cpu_seconds: float


class SearchSystem(Protocol):
    name: str

    async def fill(self, searched: SearchSet) -> None: ...

    async def ask(self, question: BenchQuestion, limit: int | None) -> SystemAnswer:
        """Without a limit, as an agent asks that sets no option."""

    async def close(self) -> None: ...


class PlainFts5:
    """One FTS5 table per group with its Porter tokenizer, and any of the question's words without stop words."""

    name = "FTS5"

    async def fill(self, searched: SearchSet) -> None:
        self._tables: dict[str, apsw.Connection] = {}
        for document in searched.documents:
            if document.group not in self._tables:
                table = self._tables[document.group] = apsw.Connection(":memory:")
                table.execute(
                    "create virtual table note using fts5(id unindexed, title, text, tokenize='porter')"
                )
            self._tables[document.group].execute(
                "insert into note values (?, ?, ?)",
                (document.id, document.title, "\n".join((document.text, *document.files))),
            )

    def score_words(self, question: BenchQuestion, limit: int) -> dict[str, float]:
        """The best documents with their scores, the best first."""
        return {row[0]: -row[1] for row in self._select("id, rank", question, limit)}

    def _select(self, columns: str, question: BenchQuestion, limit: int) -> list[Any]:
        words = [word for word in re.findall(r"\w+", question.text.lower()) if word not in STOP_WORDS]
        # A question of another field has no group of its own; the first one stands for all.
        table = self._tables.get(question.group) or next(iter(self._tables.values()))
        sql = f"select {columns} from note where note match ? order by rank limit ?"
        return (
            table.execute(sql, (" OR ".join(f'"{word}"' for word in words), limit)).fetchall()
            if words
            else []
        )

    async def ask(self, question: BenchQuestion, limit: int | None) -> SystemAnswer:
        began = time.process_time()
        rows = self._select("id, title, snippet(note, 2, '', '', '', 60)", question, limit or RESULTS)
        reply = json.dumps(
            [{"id": row[0], "title": row[1], "text": row[2]} for row in rows], ensure_ascii=False
        )
        return SystemAnswer([frozenset((row[0],)) for row in rows], reply, time.process_time() - began)

    async def close(self) -> None:
        self._tables.clear()


class Commonplace:
    """Learnings and documents are asked with memory_query, sessions with search_sessions."""

    def __init__(self, store: str = "sqlite", embeddings: str = "on", vectors: Path | None = None) -> None:
        self._store, self._settings, self._vectors = store, Settings(embeddings=embeddings), vectors
        self.name = "Commonplace" + (", words only" if embeddings == "off" else "")
        self.name += " on PostgreSQL" if store == "postgresql" else ""

    async def fill(self, searched: SearchSet) -> None:
        self._product = open_product(self._store, self._settings)
        self._calls = await self._product.__aenter__()
        self._of_sessions = searched.is_of_sessions
        self._stands: dict[str, set[str]] = defaultdict(set)
        if self._vectors and self._settings.embeddings != "off":
            self._vectors.parent.mkdir(parents=True, exist_ok=True)
            await CachedModel.install_in(self._calls.search, self._vectors)
        self._sessions = {}
        for group in sorted({document.group for document in searched.documents}):
            started = await self._call("memory_start_session", project=f"set {group or 'all'}", agent="bench")
            self._sessions[group] = started["session_id"]
        await (self._upload_sessions if self._of_sessions else self._record_documents)(searched.documents)
        began = time.process_time()
        await self._calls.search.drain_queue()
        self.embedding_seconds = time.process_time() - began
        if self._vectors and self._settings.embeddings != "off":
            self._calls.search._models["on"].save()  # noqa: SLF001

    async def _record_documents(self, documents: Sequence[BenchDocument]) -> None:
        for document in documents:
            arguments: dict[str, Any] = {
                "session_id": self._sessions[document.group],
                "content": document.text,
            }
            try:
                stored = await (
                    self._call(
                        "memory_record_learning",
                        topic=document.title,
                        files_related=list(document.files),
                        **arguments,
                    )
                    if document.files
                    else self._call(
                        "memory_store", title=document.title, memory_type="architecture", **arguments
                    )
                )
            except errors.Duplicate as same:
                stored = same.details
            self._stands[stored["id"]].add(document.id)

    async def _upload_sessions(self, documents: Sequence[BenchDocument]) -> None:
        workspace = await self._call(
            "register_workspace", machine="bench", tool="claude-code", project="bench"
        )
        for document in documents:
            arguments = {
                "workspace_id": workspace["workspace_id"],
                "write_token": workspace["write_token"],
                "session_id": document.id,
                "body": build_transcript(document),
                "offset": 0,
            }
            await self._calls.run_operation(upload_bytes, arguments, access.LOCAL)
            self._stands[document.id].add(document.id)

    async def ask(self, question: BenchQuestion, limit: int | None) -> SystemAnswer:
        group = question.group if question.group in self._sessions else next(iter(self._sessions))
        began = time.process_time()
        if self._of_sessions:
            some = {} if limit is None else {"limit": limit, "per_session": 1}
            text = await self._call_text("search_sessions", query=question.text, **some)
            found = [match["session_id"] for match in json.loads(text)["matches"]]
        else:
            some = {} if limit is None else {"limit": limit, "detail": "snippet", "max_tokens": 20_000}
            text = await self._call_text(
                "memory_query",
                session_id=self._sessions[group],
                query=question.text,
                include_shared=False,
                **some,
            )
            found = [result["id"] for result in json.loads(text).get("results", [])]
        seconds = time.process_time() - began
        return SystemAnswer([frozenset(self._stands[each]) for each in dict.fromkeys(found)], text, seconds)

    async def open_documents(self, documents: Collection[str]) -> None:
        """Read these documents of the set whole, as an agent does that uses what it found."""
        session = next(iter(self._sessions.values()))
        for stored, ids in self._stands.items():
            if not ids.isdisjoint(documents):
                await self._call("memory_get_by_id", session_id=session, id=stored)
        await self._calls.search.write_uses()

    async def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return await call_operation(self._calls, operation, **arguments)

    async def _call_text(self, operation: str, **arguments: Any) -> str:
        return str((await self._calls.run(operation, arguments, access.LOCAL)).to_text(), "utf-8")

    async def close(self) -> None:
        await close_product(self._calls)
        await self._product.__aexit__(None, None, None)


def build_transcript(document: BenchDocument) -> bytes:
    """The session as Claude Code writes it."""
    lines: list[dict[str, Any]] = []

    def add_line(kind: str, content: Any, **more: Any) -> None:
        at = f"{document.day}T10:{len(lines) // 60:02d}:{len(lines) % 60:02d}.000Z"
        message = {"role": kind, "content": content} | more
        lines.append({"type": kind, "timestamp": at, "message": message, "cwd": "/home/ann/shop"})

    for n, step in enumerate(document.steps):
        if "user" in step:
            add_line("user", step["user"])
        elif "assistant" in step:
            add_line(
                "assistant",
                [{"type": "text", "text": step["assistant"]}],
                id=f"m{n}",
                model="claude-opus-4-6",
            )
        else:
            tool, given = (
                ("Bash", {"command": step["run"]}) if "run" in step else ("Edit", {"file_path": step["edit"]})
            )
            call = {"type": "tool_use", "id": f"t{n}", "name": tool, "input": given}
            add_line("assistant", [call], id=f"m{n}")
            result = {
                "type": "tool_result",
                "tool_use_id": f"t{n}",
                "content": step.get("output", "ok"),
                "is_error": step.get("failed", False),
            }
            add_line("user", [result])
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)
