"""Stores of other memory servers become notes and tasks: once, with their origin, and nothing private."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from user import User

from commonplace.__main__ import main
from commonplace.client.day_zero.found_note import FoundNote, FoundTask, parse_markdown
from commonplace.client.day_zero.note_sources import list_path

SAMPLES = Path(__file__).parent / "store_samples"


class Skips:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def __call__(self, path: str, reason: str) -> None:
        assert path
        self.reasons.append(reason)


@pytest.fixture
def run_import(user: User, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*words: str) -> str:
        capsys.readouterr()
        assert main(["import", *words, "--data", str(user.home / "data")]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def call(user: User, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    def run(operation: str, **arguments: Any) -> dict[str, Any]:
        capsys.readouterr()
        words = ["call", operation, "--data", str(user.home / "data"), "--json", json.dumps(arguments)]
        assert main(words) == 0
        return json.loads(capsys.readouterr().out)

    return run


def write_sqlite(path: Path, script: str, *rows: tuple[str, tuple[Any, ...]]) -> Path:
    with closing(sqlite3.connect(path)) as store:
        store.executescript(script)
        for statement, values in rows:
            store.execute(statement, values)
        store.commit()
    return path


@pytest.fixture
def chroma(tmp_path: Path) -> Path:
    """A folder of Chroma 1.5.9, with what mcp-shared-memory stores; the sample is a dump of its tables."""
    folder = tmp_path / "chroma"
    folder.mkdir()
    write_sqlite(folder / "chroma.sqlite3", (SAMPLES / "chroma_dump.sql").read_text())
    return folder


def test_collections_of_chroma_become_notes_and_tasks_of_their_projects(chroma: Path):
    skips = Skips()
    note, task = sorted(list_path(chroma, skips), key=lambda each: type(each).__name__)
    assert isinstance(note, FoundNote)
    assert (note.title, note.project, note.memory_type, note.tags) == (
        "Idle pool",
        "shop",
        "learning",
        ("db",),
    )
    assert isinstance(task, FoundTask)
    assert (task.title, task.description, task.priority) == (
        "Reverse charge",
        "For companies in the EU.",
        "high",
    )
    assert skips.reasons == ["its status is deprecated"]


def test_import_of_chroma_is_repeatable_and_goes_to_each_project(
    chroma: Path, run_import: Callable[..., str], call: Callable[..., Any]
):
    assert "would store 1 backlog item" in run_import(str(chroma), "--dry-run")
    first = run_import(str(chroma))
    assert ("stored      1 note" in first, "stored      1 backlog item" in first) == (True, True)
    second = run_import(str(chroma))
    assert ("stored      0 notes" in second, "2 items stored before" in second) == (True, True)
    session = call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
    [found] = call("memory_query", session_id=session, query="idle connections")["results"]
    assert (found["author"], {"import", "from-shared-memory", "db"} <= set(found["tags"])) == (
        "importer",
        True,
    )


def test_public_messages_of_a_shared_context_become_a_note_and_private_ones_stay(tmp_path: Path):
    schema = (SAMPLES / "shared_context_schema.sql").read_text()
    message = "insert into messages (session_id, sender, content, visibility) values (?, ?, ?, ?)"
    path = write_sqlite(
        tmp_path / "chat_history.db",
        schema,
        (
            "insert into sessions (id, purpose, created_by) values (?, ?, ?)",
            ("session_1", "Plan the cart", "ann"),
        ),
        ("insert into sessions (id, purpose, created_by) values (?, ?, ?)", ("session_2", "Empty", "ann")),
        (message, ("session_1", "ann", "VAT is rounded per item", "public")),
        (message, ("session_1", "ben", "my own thought", "private")),
        ("insert into agent_memory (agent_id, key, value) values (?, ?, ?)", ("ann", "k", '"secret"')),
    )
    skips = Skips()
    [note] = list_path(path, skips)
    assert (note.source, note.title) == ("shared-context", "Plan the cart")
    assert "ann" in note.text
    assert "VAT is rounded per item" in note.text
    assert "my own thought" not in note.text
    assert skips.reasons == [
        "1 messages that are not public, 1 private values of agents",
        "it has no public message",
    ]


def test_observations_and_summaries_of_claude_mem_become_notes(tmp_path: Path):
    observation = (
        "insert into observations (memory_session_id, project, type, title, narrative, facts, concepts, created_at,"
        " created_at_epoch) values ('s', 'shop', ?, ?, ?, ?, ?, '2026-01-01', 1)"
    )
    summary = (
        "insert into session_summaries (memory_session_id, project, request, learned, next_steps, created_at,"
        " created_at_epoch) values ('s', 'shop', ?, ?, ?, '2026-01-01', 1)"
    )
    path = write_sqlite(
        tmp_path / "claude-mem.db",
        (SAMPLES / "claude_mem_schema.sql").read_text(),
        (observation, ("decision", "Cents", "Amounts are integers.", '["no floats"]', '["money"]')),
        (observation, ("discovery", None, None, None, None)),
        (summary, ("Add VAT", "It is rounded per item.", "Reverse charge")),
    )
    skips = Skips()
    notes = list(list_path(path, skips))
    assert [(note.title, note.project) for note in notes] == [("Cents", "shop"), ("Add VAT", "shop")]
    assert (notes[0].memory_type, notes[0].text) == ("adr", "Amounts are integers.\n\n- no floats")
    assert notes[1].text == "learned: It is rounded per item.\n\nnext steps: Reverse charge"
    assert skips.reasons == ["it has no text"]


def test_export_of_agentmemory_becomes_notes():
    """The sample was written by memory_export of agentmemory 0.9.29."""
    [note] = list_path(SAMPLES / "agentmemory_export.json", Skips())
    assert (note.source, note.text) == ("agentmemory", "PgBouncer closes idle connections after ten minutes.")
    assert note.tags == ("pool", "postgres")


BEADS = [
    {
        "id": "bd-a1",
        "title": "Cart API",
        "description": "GET /cart",
        "status": "open",
        "priority": 0,
        "issue_type": "feature",
    },
    {
        "id": "bd-a2",
        "title": "Cart page",
        "status": "open",
        "priority": 2,
        "labels": ["web"],
        "dependencies": [
            {"issue_id": "bd-a2", "depends_on_id": "bd-a1", "type": "blocks"},
            {"issue_id": "bd-a2", "depends_on_id": "bd-a3", "type": "blocks"},
            {"issue_id": "bd-a2", "depends_on_id": "bd-a1", "type": "related"},
        ],
    },
    {"id": "bd-a3", "title": "Old", "status": "closed", "priority": 1},
    {"id": "bd-a4", "title": "Hello", "status": "open", "issue_type": "message"},
]


def test_beads_become_backlog_items_with_their_dependencies_once(
    tmp_path: Path, run_import: Callable[..., str], call: Callable[..., Any]
):
    folder = tmp_path / ".beads"
    folder.mkdir()
    (folder / "issues.jsonl").write_text("\n".join(map(json.dumps, BEADS)))
    report = run_import(str(folder), "--project", "shop")
    assert "stored      2 backlog items" in report
    assert "1 issues are closed" in report
    assert "a message is no task" in report
    assert "2 items stored before" in run_import(str(folder), "--project", "shop")
    session = call("memory_start_session", project="shop", claude_instance="ann")["session_id"]
    ready = call("memory_list_backlog", session_id=session, ready=True)["items"]
    assert [(item["title"], item["priority"]) for item in ready] == [("Cart API", "critical")]
    everything = call("memory_list_backlog", session_id=session)["items"]
    assert {item["title"]: item.get("depends_on", []) for item in everything} == {
        "Cart API": [],
        "Cart page": [ready[0]["id"]],
    }


def test_notes_of_basic_memory_keep_title_and_tags_of_their_front_matter():
    text = "---\ntitle: Idle pool\ntype: note\npermalink: db/idle-pool\ntags:\n- db\n- 'pool'\n---\n\n- [fact] closed after 10 min #db\n"
    note = parse_markdown("markdown", "x.md", text, "x")
    assert note is not None
    assert (note.title, note.tags, note.text) == (
        "Idle pool",
        ("db", "pool"),
        "- [fact] closed after 10 min #db",
    )


def test_other_files_are_left_out_with_the_reason(tmp_path: Path, chroma: Path):
    skips = Skips()
    assert list(list_path(write_sqlite(tmp_path / "a.db", "create table t (x)"), skips)) == []
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"SQLite format 3\0" + b"\xff" * 2000)
    assert list(list_path(broken, skips)) == []
    assert skips.reasons[0] == "a SQLite file of no program that is known"
    assert skips.reasons[1].startswith("cannot be read")
    write_sqlite(chroma / "chroma.sqlite3", "delete from embedding_metadata where key = 'chroma:document'")
    assert list(list_path(chroma, skips)) == []
    assert skips.reasons[-1] == "it has no text"


# A guideline with nested values as MongoDB's own driver encodes it, which is what `mongodump` writes.
GUIDELINE_BSON = bytes.fromhex(
    "ac000000075f69640064b7f0c2a1b2c3d4e5f60718026e616d6500060000007465737473000272756c65000a"
    "00000052756e207468656d2e000273636f70650007000000676c6f62616c00107072696f7269747900320000"
    "0008616374697665000109757064617465640000a8da769b01000003627900340000000a6b65790004746167"
    "730024000000023000020000006100013100000000000000f83f1232000000000000010000000000"
)


def test_guidelines_of_a_mongodb_dump_become_documents_of_their_project(tmp_path: Path):
    dump = tmp_path / "dump" / "mcp_orchestrator"
    dump.mkdir(parents=True)
    (dump / "guidelines.bson").write_bytes(GUIDELINE_BSON)
    (dump / "broken.bson").write_bytes(GUIDELINE_BSON[:50])
    skips = Skips()
    [note] = list_path(tmp_path / "dump", skips)
    assert isinstance(note, FoundNote)
    assert (note.title, note.text, note.project, note.memory_type) == (
        "Guideline: tests",
        "Run them.",
        "shared",
        "pattern",
    )
    assert skips.reasons == ["cannot be read (the file ends inside a document)"]


@pytest.mark.parametrize("as_array", [True, False])
def test_guidelines_of_a_mongodb_export_are_read_and_inactive_ones_left_out(tmp_path: Path, as_array: bool):
    records = [
        {"_id": {"$oid": "1"}, "name": "tests", "rule": "Run them.", "scope": "shop", "active": True},
        {"_id": {"$oid": "2"}, "name": "old", "rule": "Gone.", "scope": "shop", "active": False},
        {"_id": {"$oid": "3"}, "instance": "ann"},
    ]
    file = tmp_path / "guidelines.json"
    file.write_text(json.dumps(records) if as_array else "\n".join(map(json.dumps, records)))
    skips = Skips()
    assert [(note.title, note.project) for note in list_path(file, skips)] == [("Guideline: tests", "shop")]
    assert skips.reasons == ["1 records are neither guidelines nor checklists", "it is not active"]
