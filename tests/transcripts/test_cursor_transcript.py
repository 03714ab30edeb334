"""Cursor's agent transcripts, with the lines that its versions of 2026 write: {role, message} and control lines."""

from pathlib import Path

import pytest
import samples

from commonplace.client.agents import load_transcripts
from commonplace.transcripts.reader import TranscriptReader

SESSION = "e13fc9ba-0fe8-455e-b069-a0eb0b374502"


def line(role: str, *blocks: dict) -> bytes:
    return samples.json_line(role=role, message={"content": list(blocks)})


def prompt(words: str, time: str = "Friday, May 8, 2026, 6:05 AM (UTC+5:30)") -> bytes:
    text = f"<timestamp>{time}</timestamp>\n<user_query>\n{words}\n</user_query>"
    return line("user", samples.text_block(text))


def call(name: str, **arguments: str) -> dict:
    return {"type": "tool_use", "name": name, "input": arguments}


LINES = [
    prompt("Round the cart totals, please"),
    line("assistant", samples.text_block("I look.\n\n[REDACTED]"), call("Shell", command="pytest -q")),
    line("assistant", call("StrReplace", path="/home/ann/shop/cart.py", old_string="a", new_string="b")),
    samples.json_line(type="turn_ended", status="success"),
    line("assistant", samples.text_block("I rounded the cart totals.")),
]


def read_lines(lines: list[bytes], tool: str = "") -> tuple[list[tuple[str, str, str]], TranscriptReader]:
    reader = TranscriptReader(tool=tool)
    return [(said.role, said.text, said.tool) for said in reader.read(0, lines)], reader


@pytest.mark.parametrize("hint", ["", "cursor", "claude-code"])
def test_session_is_read_as_chat_whatever_the_hint_says(hint: str):
    said, reader = read_lines(LINES, hint)
    assert said == [
        ("user", "Round the cart totals, please", ""),
        ("assistant", "I look.", ""),
        ("tool", "pytest -q", "Shell"),
        ("tool", "/home/ann/shop/cart.py", "StrReplace"),
        ("assistant", "I rounded the cart totals.", ""),
    ]
    summary = reader.build_summary()
    assert (summary.format, summary.title, summary.skipped_lines) == (
        "cursor",
        "Round the cart totals, please",
        0,
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Friday, May 8, 2026, 6:05 AM (UTC+5:30)", 1_778_200_500_000_000),
        ("Thursday, May 7, 2026, 7:35 PM (UTC-5)", 1_778_200_500_000_000),
        ("Friday, May 8, 2026, 12:35 AM (UTC)", 1_778_200_500_000_000),
        ("some day", None),
        ("Friday, May 48, 2026, 6:05 AM (UTC+5:30)", None),
    ],
)
def test_time_before_a_prompt_is_that_of_the_prompt(written: str, expected: int | None):
    [said] = TranscriptReader().read(0, [prompt("Hello", written)])
    assert (said.text, said.at) == ("Hello", expected)


def test_transcripts_are_found_with_the_folder_that_their_agent_worked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home, work = tmp_path / "cursor", tmp_path / "my_shop.v2"
    work.mkdir()
    (tmp_path / "my").mkdir()
    monkeypatch.setenv("CURSOR_CONFIG_DIR", str(home))
    for name in ("XDG_CONFIG_HOME", "COMMONPLACE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    slug = "-".join(part.replace("_", "-").replace(".", "-") for part in work.parts[1:])
    folder = home / "projects" / slug / "agent-transcripts" / SESSION
    (folder / "subagents").mkdir(parents=True)
    for name in (f"{SESSION}.jsonl", "subagents/child.jsonl"):
        (folder / name).write_bytes(LINES[0] + b"\n")
    cursor = load_transcripts("cursor")
    listed = list(cursor.list_transcripts())
    assert {each.session_id for each in listed} == {SESSION, f"{SESSION}.child"}
    assert {cursor.find_work_folder(each.path, ()) for each in listed} == {str(work)}
    named = cursor.transcript_at(tmp_path / "conv-a" / "transcript.jsonl.zst")
    assert (named.session_id, cursor.find_work_folder(named.path, ())) == ("conv-a.transcript", "")
    work.rmdir()
    assert {cursor.find_work_folder(each.path, ()) for each in listed} == {""}
    assert {cursor.find_work_folder(each.path, [str(work)]) for each in listed} == {str(work)}
