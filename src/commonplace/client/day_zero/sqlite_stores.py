"""Memory servers that keep their data in SQLite files: which one a file is of, and the notes and tasks in it.

Files are opened read-only. Their tables were read from the programs' own files: Chroma 1.5, shared-context-server
(schema 3), claude-mem 13.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from commonplace.client.day_zero.found_note import Found, FoundNote, FoundTask

OnSkip = Callable[[str, str], None]

_SQLITE_MAGIC = b"SQLite format 3\0"
_BUSY_SECONDS = 5
_MAX_SHOWN_MESSAGES = 500
_PROJECT_PREFIX, _SHARED_PREFIX = "proj_", "shared_"
_CLOSED_STATUSES = frozenset({"done", "wont_do", "duplicate"})
_MEMORY_TYPES = frozenset(
    {
        *("api_spec", "architecture", "component", "config", "adr", "learning", "pattern", "gotcha"),
        *("code_snippet", "solution", "task_context", "handoff", "interface", "function_ref", "spec"),
    }
)
_CHROMA_ROWS = """
select collections.name as collection, embeddings.id as row, embeddings.embedding_id as id, embedding_metadata.key,
 coalesce(embedding_metadata.string_value, embedding_metadata.int_value, embedding_metadata.float_value) as value
from collections join segments on segments.collection = collections.id
join embeddings on embeddings.segment_id = segments.id
join embedding_metadata on embedding_metadata.id = embeddings.id
order by collections.name, embeddings.id
"""


def list_sqlite_store(path: Path, on_skip: OnSkip) -> Iterator[Found]:
    """What is in the file, by the tables that it has."""
    with closing(
        sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    ) as store:
        store.row_factory = sqlite3.Row
        store.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            tables = {
                row["name"] for row in store.execute("select name from sqlite_master where type = 'table'")
            }
            kinds = (kind for needed, kind in _STORE_KINDS if needed <= tables)
            list_store = next(kinds, None)
            if list_store is None:
                on_skip(str(path), "a SQLite file of no program that is known")
                return
            yield from list_store(store, path, on_skip)
        except sqlite3.Error as broken:
            on_skip(str(path), f"cannot be read ({broken})")


def is_sqlite_file(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError:
        return False


def list_chroma(store: sqlite3.Connection, path: Path, on_skip: OnSkip) -> Iterator[Found]:
    """The collections of mcp-shared-memory, and any other one: a text with its title, type, status and tags."""
    items: dict[tuple[str, int], dict[str, str]] = {}
    for row in store.execute(_CHROMA_ROWS):
        fields = items.setdefault((row["collection"], row["row"]), {"id": row["id"]})
        fields[row["key"]] = "" if row["value"] is None else str(row["value"])
    for (collection, _), fields in items.items():
        yield from _read_chroma_item(collection, fields, path, on_skip)


def _read_chroma_item(
    collection: str, fields: dict[str, str], path: Path, on_skip: OnSkip
) -> Iterator[Found]:
    text = fields.get("chroma:document", "").strip()
    origin = f"{path}: {collection}/{fields['id']}"
    project = _name_project(collection)
    title = fields.get("title") or text.splitlines()[0].lstrip("# ") if text else ""
    status = fields.get("backlog_status", fields.get("status", "active"))
    tags = _read_texts(fields.get("tags", ""))
    if not text:
        on_skip(origin, "it has no text")
    elif fields.get("type") == "backlog" and status in _CLOSED_STATUSES:
        on_skip(origin, f"the item is {status}")
    elif fields.get("type") == "backlog":
        body = text.removeprefix(f"# {title}").strip()
        priority = fields.get("priority", "medium")
        yield FoundTask(
            "shared-memory", str(path), fields["id"], title, body, priority, tags=tags, project=project
        )
    elif status not in ("active", "review_pending"):
        on_skip(origin, f"its status is {status}")
    else:
        kind = fields.get("type", "")
        known = kind if kind in _MEMORY_TYPES else "learning"
        yield FoundNote("shared-memory", origin, title, text, known, tags, project)


def _name_project(collection: str) -> str:
    if collection.startswith(_PROJECT_PREFIX):
        return collection.removeprefix(_PROJECT_PREFIX)
    return "shared" if collection.startswith(_SHARED_PREFIX) else ""


def list_shared_context(store: sqlite3.Connection, path: Path, on_skip: OnSkip) -> Iterator[Found]:
    """A note for each session, with its public messages. What is private stays where it is."""
    hidden = store.execute("select count(*) as n from messages where visibility <> 'public'").fetchone()["n"]
    private = store.execute("select count(*) as n from agent_memory").fetchone()["n"]
    if hidden or private:
        on_skip(str(path), f"{hidden} messages that are not public, {private} private values of agents")
    for session in store.execute(
        "select id, purpose, created_by, created_at from sessions order by created_at, id"
    ):
        messages = store.execute(
            "select sender, content, timestamp from messages where session_id = ? and visibility = 'public'"
            " order by id limit ?",
            (session["id"], _MAX_SHOWN_MESSAGES),
        ).fetchall()
        origin = f"{path}: {session['id']}"
        if not messages:
            on_skip(origin, "it has no public message")
            continue
        lines = [f"{row['sender']} ({row['timestamp']}): {row['content']}" for row in messages]
        head = f"A session of {session['created_by']}, {session['created_at']}."
        yield FoundNote("shared-context", origin, session["purpose"], "\n\n".join([head, *lines]))


def list_claude_mem(store: sqlite3.Connection, path: Path, on_skip: OnSkip) -> Iterator[Found]:
    """Observations, and the summaries of sessions with what was learned and what came next."""
    for row in store.execute("select * from observations order by id"):
        fields = dict(row)
        facts = [f"- {fact}" for fact in _read_texts(fields.get("facts") or "")]
        parts = [fields.get("narrative") or fields.get("text") or "", "\n".join(facts)]
        text = "\n\n".join(part.strip() for part in parts if part and part.strip())
        origin = f"{path}: observation {fields['id']}"
        if not text:
            on_skip(origin, "it has no text")
            continue
        title = fields.get("title") or text.splitlines()[0]
        kind = "adr" if fields["type"] == "decision" else "learning"
        tags = (fields["type"], *_read_texts(fields.get("concepts") or ""))
        yield FoundNote("claude-mem", origin, title, text, kind, tags, fields["project"])
    for row in store.execute("select * from session_summaries order by id"):
        yield from _read_summary(dict(row), path, on_skip)


def _read_summary(fields: dict[str, object], path: Path, on_skip: OnSkip) -> Iterator[Found]:
    origin = f"{path}: summary {fields['id']}"
    labels = ("investigated", "learned", "completed", "next_steps", "notes")
    parts = [f"{label.replace('_', ' ')}: {fields[label]}" for label in labels if fields.get(label)]
    if not parts:
        on_skip(origin, "it has no text")
        return
    title = str(fields.get("request") or "Summary of a session")
    yield FoundNote("claude-mem", origin, title, "\n\n".join(parts), project=str(fields["project"]))


def _read_texts(encoded: str) -> tuple[str, ...]:
    """A list of texts in JSON; anything else is no list."""
    try:
        listed = json.loads(encoded) if encoded else []
    except ValueError:
        return ()
    return tuple(text for text in listed if isinstance(text, str)) if isinstance(listed, list) else ()


ListStore = Callable[[sqlite3.Connection, Path, OnSkip], Iterator[Found]]
_STORE_KINDS: tuple[tuple[frozenset[str], ListStore], ...] = (
    (frozenset({"collections", "segments", "embeddings", "embedding_metadata"}), list_chroma),
    (frozenset({"sessions", "messages", "agent_memory"}), list_shared_context),
    (frozenset({"observations", "session_summaries"}), list_claude_mem),
)
