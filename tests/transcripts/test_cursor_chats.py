"""Chats that Cursor keeps only in `state.vscdb`: exported to files, read as chat, and nothing else of the database."""

import json
import time
from pathlib import Path

import pytest
from agent_samples.cursor_chats import BUBBLES, CHAT, CREATED, FOLDER, INLINE_CHAT, TAB, ChatFiles

from commonplace.client.agents import load_transcripts
from commonplace.transcripts.reader import TranscriptReader

cursor = load_transcripts("cursor")
SAID = [
    ("user", "Round the cart total", ""),
    ("assistant", "I run the tests.", ""),
    ("tool", "pytest -q", "run_terminal_cmd"),
    ("error", "AssertionError: cart total is not rounded", "run_terminal_cmd"),
    ("tool", "/home/ann/my shop/cart.py", "tool 7"),
    ("assistant", "The cart total is rounded now.", ""),
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChatFiles:
    for name in ("CURSOR_CONFIG_DIR", "XDG_CONFIG_HOME", "COMMONPLACE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr("sys.platform", "linux")
    return ChatFiles(tmp_path / "XDG_CONFIG_HOME/Cursor/User")


def list_exports() -> dict[str, Path]:
    return {each.session_id: each.path for each in cursor.list_transcripts()}


def read_lines(path: Path) -> tuple[list[tuple[str, str, str]], TranscriptReader]:
    reader = TranscriptReader()
    lines = path.read_bytes().splitlines()
    return [(said.role, said.text, said.tool) for said in reader.read(0, lines)], reader


@pytest.mark.usefixtures("files")
def test_chat_of_the_database_is_read_with_its_tool_calls():
    said, reader = read_lines(list_exports()[CHAT])
    assert said == SAID
    summary = reader.build_summary()
    assert (summary.format, summary.title, summary.session, summary.cwd, summary.skipped_lines) == (
        "cursor", "Cart rounding", CHAT, FOLDER, 0,
    )  # fmt: skip
    assert cursor.find_work_folder(list_exports()[CHAT], ()) == FOLDER


@pytest.mark.usefixtures("files")
def test_nothing_but_the_messages_is_exported():
    assert "secret" not in list_exports()[CHAT].read_text()
    fields = [set(json.loads(line)) for line in list_exports()[CHAT].read_bytes().splitlines()]
    assert set().union(*fields) == {
        "cursor", "id", "folder", "title", "model", "createdAt", "role", "at", "text", "tool",
    }  # fmt: skip


def test_listing_again_changes_nothing_and_new_messages_are_appended(files: ChatFiles):
    before = list_exports()[CHAT].read_bytes()
    assert list_exports()[CHAT].read_bytes() == before
    files.put_bubble(CHAT, "b6", {"type": 1, "text": "And the tax?"})
    files.put_chat(CHAT, [*BUBBLES, "b6"], name="Cart rounding")
    after = list_exports()[CHAT].read_bytes()
    assert (after[: len(before)] == before, read_lines(list_exports()[CHAT])[0]) == (
        True,
        [*SAID, ("user", "And the tax?", "")],
    )


def test_chat_waits_while_its_answer_is_being_written_unless_it_was_abandoned(files: ChatFiles):
    now = int(time.time() * 1000)
    files.put_chat(CHAT, list(BUBBLES), status="generating", lastUpdatedAt=now)
    assert list_exports() == {}
    files.put_chat(CHAT, list(BUBBLES), status="generating", lastUpdatedAt=now - 3_600_000)
    assert list(list_exports()) == [CHAT]


def test_chat_of_which_cursor_writes_a_transcript_is_not_read_twice(files: ChatFiles, tmp_path: Path):
    list_exports()
    folder = tmp_path / "CURSOR_CONFIG_DIR/projects/home-ann-shop/agent-transcripts" / CHAT
    folder.mkdir(parents=True)
    (folder / f"{CHAT}.jsonl").write_text("{}\n")
    assert list_exports() == {CHAT: folder / f"{CHAT}.jsonl"}
    del files


def test_chats_of_older_versions_are_read(files: ChatFiles):
    messages = [
        {"bubbleId": "x", "type": 1, "text": "Why?"},
        {"bubbleId": "y", "type": 2, "text": "Because."},
    ]
    inline = {"composerId": INLINE_CHAT, "createdAt": CREATED, "conversation": messages}
    files.put(files.shared, "cursorDiskKV", f"composerData:{INLINE_CHAT}", inline)
    bubbles = [{"type": "user", "text": "How?"}, {"type": "ai", "text": "So."}, {"type": "ai"}]
    tab = {"tabId": TAB, "chatTitle": "A chat", "lastSendTime": CREATED, "bubbles": bubbles}
    files.put(files.workspace, "ItemTable", "workbench.panel.aichat.view.aichat.chatdata", {"tabs": [tab]})
    exports = list_exports()
    assert read_lines(exports[INLINE_CHAT])[0] == [("user", "Why?", ""), ("assistant", "Because.", "")]
    said, reader = read_lines(exports[TAB])
    assert said == [("user", "How?", ""), ("assistant", "So.", "")]
    assert (reader.build_summary().title, reader.build_summary().cwd) == ("A chat", FOLDER)


def test_rows_of_another_shape_are_left_out(files: ChatFiles):
    values = [
        None,
        7,
        [],
        {},
        "text",
        {"fullConversationHeadersOnly": 1},
        {"conversation": [{"type": []}, 3]},
    ]
    for number, value in enumerate(values):
        files.put(files.shared, "cursorDiskKV", f"composerData:odd{number}", value)
    files.put(
        files.shared,
        "cursorDiskKV",
        "composerData:../../escape",
        {"conversation": [{"type": 1, "text": "x"}]},
    )
    files.put(files.shared, "cursorDiskKV", "composerData:broken", b"\xff{[")
    files.put_chat("lost", ["gone"])
    files.put(files.workspace, "ItemTable", "composer.composerData", ["no object"])
    assert list(list_exports()) == [CHAT]


def test_database_that_cannot_be_read_is_told_and_stops_nothing(
    files: ChatFiles, capsys: pytest.CaptureFixture[str]
):
    files.workspace.write_bytes(b"not a database, but long enough to be looked at" * 40)
    assert list(list_exports()) == [CHAT]
    assert "cannot be read" in capsys.readouterr().err
