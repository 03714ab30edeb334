"""Qwen Code's transcript: a session of version 0.15.10 as it was recorded, with paths replaced.

A person asks for work; the model runs a failing command, writes a file and reads a missing one; the person continues.
"""

from pathlib import Path

import pytest
import samples

from commonplace.client.agents import load_transcripts
from commonplace.transcripts.reader import TranscriptReader

LINES = (Path(__file__).parent / "recorded" / "qwen.jsonl").read_bytes().splitlines()
SESSION = "e37e0659-3a9c-4378-b28c-a2e876b706e5"


def read_lines(
    lines: list[bytes] = LINES, tool: str = ""
) -> tuple[list[tuple[str, str, str]], TranscriptReader]:
    reader = TranscriptReader(tool=tool)
    return [(said.role, said.text, said.tool) for said in reader.read(0, lines)], reader


def record(kind: str, uuid: str, parent: str | None, *parts: object, **more: object) -> bytes:
    message = {"message": {"role": "user", "parts": list(parts)}} if parts else {}
    return samples.json_line(
        uuid=uuid, parentUuid=parent, sessionId=SESSION, timestamp=samples.T0.format(1), type=kind, **message, **more
    )  # fmt: skip


def test_session_is_read_as_chat():
    said, reader = read_lines()
    assert said == [
        ("user", "Round the cart totals, please", ""),
        ("assistant", "I look.", ""),
        ("tool", "python3 nosuch.py", "run_shell_command"),
        ("error", "/usr/bin/python3: can't open file '/home/ann/shop/nosuch.py': [Errno 2] No such file or directory", "run_shell_command"),
        ("tool", "/home/ann/shop/cart.py", "write_file"),
        ("tool", "/home/ann/shop/missing.py", "read_file"),
        ("error", "File not found: /home/ann/shop/missing.py", "read_file"),
        ("tool", "true", "run_shell_command"),
        ("assistant", "I rounded the cart totals.", ""),
        ("user", "And the tax", ""),
        ("assistant", "I rounded the cart totals.", ""),
    ]  # fmt: skip
    summary = reader.build_summary()
    assert (summary.format, summary.title, summary.session, summary.cwd, summary.model) == (
        "qwen-code", "Round the cart totals, please", SESSION, "/home/ann/shop", "m",
    )  # fmt: skip
    assert (summary.skipped_lines, summary.is_child) == (0, False)
    assert (summary.input_tokens, summary.output_tokens, summary.cached_tokens) == (72, 30, 48)
    assert [(file.path, file.edits) for file in summary.files if file.edits] == [
        ("/home/ann/shop/cart.py", 1)
    ]
    assert {each.command: each.exit_code for each in summary.commands} == {"python3 nosuch.py": 2, "true": 0}


@pytest.mark.parametrize("first", [0, 1])
def test_format_is_known_by_its_lines_whatever_the_hint_says(first: int):
    assert read_lines(LINES[first:], "claude-code")[1].build_summary().format == "qwen-code"
    claude = read_lines([samples.claude_prompt("hello")], "qwen-code")[1]
    assert claude.build_summary().format == "claude-code"


def test_rewind_abandons_what_came_after_the_prompt_that_was_taken_back():
    lines = [
        record("user", "u1", None, {"text": "Round it"}),
        record("user", "u2", "u1", {"text": "Delete it"}),
        record("assistant", "a2", "u2", {"text": "Deleted."}),
        record("system", "s1", "u1", subtype="rewind", systemPayload={"truncatedCount": 1}),
        record("user", "u3", "s1", {"text": "Keep it"}),
    ]
    state = read_lines(lines)[1].encode_state()
    pages = TranscriptReader.for_pages(state)
    assert [(said.text, said.abandoned) for said in pages.read(0, lines)] == [
        ("Round it", False),
        ("Delete it", True),
        ("Deleted.", True),
        ("Keep it", False),
    ]


def test_compaction_titles_thoughts_and_words_of_timers():
    history = [{"role": "user", "parts": [{"text": "We rounded the cart."}]}]
    said, reader = read_lines([
        record("user", "u1", None, {"text": "Check the build"}, subtype="cron"),
        record("assistant", "a1", "u1", {"text": "Hm", "thought": True}, {"text": "Green."}),
        record("system", "s1", "a1", subtype="chat_compression", systemPayload={"compressedHistory": history}),
        record("system", "s2", "s1", subtype="custom_title", systemPayload={"customTitle": "Cart", "titleSource": "auto"}),
    ])  # fmt: skip
    assert said == [
        ("system", "Check the build", ""),
        ("assistant", "Green.", ""),
        ("summary", "We rounded the cart.", ""),
    ]
    assert (reader.build_summary().compactions, reader.build_summary().title) == (1, "Cart")


def test_counts_that_are_no_numbers_do_not_stop_the_reader():
    odd = {"promptTokenCount": True, "candidatesTokenCount": "many", "cachedContentTokenCount": -1}
    reader = read_lines([record("assistant", "a1", None, {"text": "Green."}, usageMetadata=odd)])[1]
    again = TranscriptReader(reader.encode_state())
    assert again.build_summary() == reader.build_summary()


def test_cancelled_call_is_no_error_and_a_sub_agent_is_a_child():
    call = record("assistant", "a1", None, {"functionCall": {"id": "c", "name": "edit", "args": {}}}, isSidechain=True)  # fmt: skip
    response = {
        "functionResponse": {"id": "c", "name": "edit", "response": {"error": "[Operation Cancelled]"}}
    }
    result = record(
        "tool_result", "r1", "a1", response, toolCallResult={"callId": "c", "status": "cancelled"}
    )
    said, reader = read_lines([call, result])
    assert ([role for role, *_ in said], reader.build_summary().is_child) == (["tool"], True)


def test_chats_and_sub_agents_are_found_where_the_program_writes_them(tmp_path, monkeypatch):
    monkeypatch.delenv("QWEN_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("QWEN_HOME", str(tmp_path))
    project = tmp_path / "projects/-home-ann-shop"
    for name in (f"chats/{SESSION}.jsonl", f"subagents/{SESSION}/agent-check-1.jsonl"):
        (project / name).parent.mkdir(parents=True)
        (project / name).write_bytes(LINES[0] + b"\n")
    qwen = load_transcripts("qwen")
    listed = list(qwen.list_transcripts())
    assert [each.session_id for each in listed] == [SESSION, f"{SESSION}.agent-check-1"]
    assert {qwen.find_work_folder(each.path, ()) for each in listed} == {"/home/ann/shop"}
