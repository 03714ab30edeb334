"""opencode's transcript: a session of version 1.18.33 as it was stored, with paths replaced, and exported."""

import json

import pytest
from agent_samples.opencode_sessions import CHILD, SESSION, SessionDatabase

from commonplace.client.agents import load_transcripts
from commonplace.transcripts.reader import TranscriptReader


@pytest.fixture
def exports(tmp_path, monkeypatch) -> dict[str, list[bytes]]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    SessionDatabase(tmp_path / "share/opencode/opencode.db").close()
    listed = load_transcripts("opencode").list_transcripts()
    return {transcript.session_id: transcript.path.read_bytes().splitlines() for transcript in listed}


def read_lines(lines: list[bytes]) -> tuple[list[tuple[str, str, str]], TranscriptReader]:
    reader = TranscriptReader()
    return [(said.role, said.text, said.tool) for said in reader.read(0, lines)], reader


def test_session_is_read_as_chat(exports):
    said, reader = read_lines(exports[SESSION])
    assert said == [
        ("user", '"Round the cart total"', ""),
        ("assistant", "I run the tests first.", ""),
        ("tool", "python test_cart.py", "bash"),
        ("error", "AssertionError: cart total is not rounded", "bash"),
        ("tool", "/home/ann/shop/totals.py", "read"),
        ("error", "File not found: /home/ann/shop/totals.py", "read"),
        ("tool", "/home/ann/shop/cart.py", "edit"),
        ("tool", "Check the tests", "task"),
        ("assistant", "The total is rounded once, at the end.", ""),
        ("user", '"Ann says thanks"', ""),
        ("assistant", "You are welcome.", ""),
    ]
    summary = reader.build_summary()
    assert (summary.format, summary.title, summary.session, summary.cwd, summary.model) == (
        "opencode", "Cart total rounding", SESSION, "/home/ann/shop", "m",
    )  # fmt: skip
    assert (summary.user_messages, summary.skipped_lines, summary.is_child) == (2, 0, False)
    assert (summary.input_tokens, summary.output_tokens) == (60, 30)


def test_files_and_commands_are_logged_with_their_exit_codes(exports):
    summary = read_lines(exports[SESSION])[1].build_summary()
    assert [(file.path, file.edits) for file in summary.files if file.edits] == [
        ("/home/ann/shop/cart.py", 1)
    ]
    assert {command.command: command.exit_code for command in summary.commands} == {"python test_cart.py": 1}


def test_sub_agent_is_a_child(exports):
    said, reader = read_lines(exports[CHILD])
    assert said[-1] == ("assistant", "The tests pass.", "")
    assert reader.build_summary().is_child


def test_record_that_was_exported_again_counts_once(exports):
    lines = exports[SESSION]
    said, reader = read_lines([*lines, *lines])
    assert said == read_lines(lines)[0]
    assert reader.build_summary().input_tokens == 60


def test_each_line_can_be_read_without_those_before_it(exports):
    lines = exports[SESSION]
    whole = TranscriptReader()
    expected = whole.read(0, lines)
    pages = TranscriptReader.for_pages(whole.encode_state())
    assert [
        said for number in range(len(lines)) for said in pages.read(number, lines[number : number + 1])
    ] == expected


def test_summary_of_a_compaction_and_what_a_plugin_added_are_not_the_users_words():
    def part(identity: str, role: str, **data: object) -> bytes:
        return json.dumps({"opencode": "part", "id": identity, "role": role, "part": data}).encode()

    said, reader = read_lines([
        part("p1", "user", type="text", text="Hooks say", synthetic=True),
        part("p2", "user", type="compaction", auto=True),
        part("p3", "summary", type="text", text="We rounded the cart."),
        json.dumps({"opencode": "message", "id": "m1", "error": {"name": "APIError", "data": {"message": "Too many"}}}).encode(),
    ])  # fmt: skip
    assert said == [
        ("system", "Hooks say", ""),
        ("summary", "We rounded the cart.", ""),
        ("system", "Too many", ""),
    ]
    assert reader.build_summary().compactions == 1
