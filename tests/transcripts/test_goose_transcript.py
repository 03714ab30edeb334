"""Goose's sessions: exported from its database, and the files of versions before 1.10."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_samples.goose_sessions import CHILD, CREATED, MESSAGES, SESSION, SessionDatabase, text_block

from commonplace.client.agents import load_transcripts
from commonplace.transcripts.reader import TranscriptReader

goose = load_transcripts("goose")
CHAT = [
    ("user", "Round the cart total", ""),
    ("assistant", "I run the tests.", ""),
    ("tool", "python t.py", "developer__shell"),
    ("error", "AssertionError: cart total is not rounded", "developer__shell"),
    ("tool", "write", "developer__text_editor"),
    ("error", "-32603: disk is full", "developer__text_editor"),
    ("assistant", "The disk is full.", ""),
]


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOOSE_PATH_ROOT", str(tmp_path / "goose"))
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    return tmp_path / "goose/data/sessions"


@pytest.fixture
def database(sessions: Path) -> Iterator[SessionDatabase]:
    made = SessionDatabase(sessions / "sessions.db")
    yield made
    made.close()


def exported(session: str = SESSION) -> list[bytes]:
    paths = {each.session_id: each.path for each in goose.list_transcripts()}
    return paths[session].read_bytes().splitlines()


def read_lines(lines: list[bytes]) -> tuple[list[tuple[str, str, str]], TranscriptReader]:
    reader = TranscriptReader()
    return [(said.role, said.text, said.tool) for said in reader.read(0, lines)], reader


@pytest.mark.usefixtures("database")
def test_session_of_the_database_is_read_as_chat():
    said, reader = read_lines(exported())
    assert said == CHAT
    summary = reader.build_summary()
    assert (summary.format, summary.title, summary.session, summary.cwd, summary.is_child) == (
        "goose", "Cart rounding", SESSION, "/home/ann/shop", False,
    )  # fmt: skip
    assert (summary.input_tokens, summary.output_tokens, summary.skipped_lines) == (60, 30, 0)
    assert read_lines(exported(CHILD))[1].build_summary().is_child
    listed = list(goose.list_transcripts())
    assert {goose.find_work_folder(each.path, ()) for each in listed} == {"/home/ann/shop"}


def test_listing_again_changes_nothing_and_new_messages_are_appended(database):
    before = exported()
    assert exported() == before
    # In the same second as the last one.
    database.add_message(SESSION, "user", [text_block("And the tax?")], CREATED + len(MESSAGES) - 1)
    after = exported()
    assert (after[: len(before)], len(after)) == (before, len(before) + 1)


def test_compaction_that_writes_every_message_anew_adds_only_what_is_new(database):
    before = exported()
    database.compact(SESSION, "We rounded the cart.", CREATED + 60)
    after = exported()
    assert (after[: len(before)], len(after)) == (before, len(before) + 1)
    assert read_lines(after)[0] == [*CHAT, ("assistant", "We rounded the cart.", "")]


def test_two_equal_messages_are_two(database):
    for _ in range(2):
        database.add_message(SESSION, "user", [text_block("Go on")], CREATED + 90)
    assert [text for _, text, _ in read_lines(exported())[0]].count("Go on") == 2


def test_each_line_can_be_read_without_those_before_it(database):
    del database
    lines = exported()
    whole = TranscriptReader()
    expected = whole.read(0, lines)
    pages = TranscriptReader.for_pages(whole.encode_state())
    assert [
        said.text for number in range(len(lines)) for said in pages.read(number, lines[number : number + 1])
    ] == [said.text for said in expected]


def test_file_of_an_older_version_is_sent_as_it_is_unless_the_database_has_the_session(sessions):
    head = {
        "working_dir": "/home/ann/shop",
        "description": "Cart rounding",
        "message_count": 6,
        "total_tokens": 90,
    }
    lines = [head, *({"role": role, "created": CREATED, "content": content} for role, content in MESSAGES)]
    sessions.mkdir(parents=True)
    for name in (SESSION, "20250301_101010"):
        (sessions / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [each.path.parent for each in goose.list_transcripts()] == [sessions, sessions]
    said, reader = read_lines(exported("20250301_101010"))
    assert (said, reader.build_summary().format, reader.build_summary().title) == (
        CHAT,
        "goose",
        "Cart rounding",
    )
    (sessions / "sub").mkdir()
    SessionDatabase(sessions / "sub" / "new" / "sessions.db").close()
    (sessions / "sub" / "new" / "sessions.db").rename(sessions / "sessions.db")
    own = {each.session_id: each.path.parent == sessions for each in goose.list_transcripts()}
    assert own == {SESSION: False, CHILD: False, "20250301_101010": True}


def test_database_that_cannot_be_read_is_told_and_stops_nothing(sessions, capsys):
    sessions.mkdir(parents=True)
    (sessions / "sessions.db").write_bytes(b"not a database, but long enough to be looked at" * 40)
    assert list(goose.list_transcripts()) == []
    assert "cannot be read" in capsys.readouterr().err
