"""What hooks injected into a conversation is told from what was said in it."""

import json
from pathlib import Path

import pytest
import samples

from commonplace.client.companion import boot_context
from commonplace.client.companion.hook_state import HookSession
from commonplace.transcripts.boot_echo import ECHO_TEXT, find_session_id, list_said_texts, remove_boot_echo
from commonplace.transcripts.reader import TranscriptReader

PACK = {
    "project": "shop",
    "agent": "alice",
    "session_id": "shop_alice_00000000000000000000000000000000004",
    "messages": {"unread": 0, "urgent": 0},
    "learnings": [{"id": "doc_1", "title": "Zebrafish totals", "snippet": "Round\nzebrafish at the end."}],
}
SESSION = HookSession(
    PACK["session_id"], "shop", "alice", "/home/ann/shop", "claude", boot_context.encode_pack(PACK)
)
LOCKS = {"locks": [], "your_locks": []}
INJECTED = {
    "start": boot_context.render_boot_context(SESSION, "auto"),
    "without leases": boot_context.render_boot_context(SESSION, "off"),
    "reminder": boot_context.render_reminder(SESSION, {"agent": "alice", "unread": 1}, LOCKS, {}, "check"),
    "truncated": boot_context.render_boot_context(SESSION, "auto")[:-40] + " …(truncated)",
    "of an older version": "Commonplace is the shared memory of this team's agents; its tools are named memory_*.\nIn it this session is the agent alice in the project shop. Its session_id for these tools: s\nThe state of the project now, as memory_start_session returned it:\n"
    + SESSION.pack,
}


@pytest.mark.parametrize("kind", INJECTED)
def test_injected_boot_pack_is_removed_and_what_was_said_stays(kind: str):
    injected = INJECTED[kind]
    assert remove_boot_echo(injected) == ""
    assert remove_boot_echo(f"{injected}\n\nWhy is the cart empty?") == "Why is the cart empty?"
    assert remove_boot_echo(f"Why?\n\n<hook_context>{injected}\n\n2 new messages</hook_context>") == "Why?"


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_reply_of_a_start_is_an_echo_however_deep_it_is_escaped(depth: int):
    text = json.dumps(PACK, separators=(",", ":"))
    for _ in range(depth):
        text = json.dumps([{"type": "text", "text": text}], separators=(",", ":"))
    assert "ebrafish" not in remove_boot_echo(f"Output:\n{text}")
    assert "ebrafish" not in " ".join(list_said_texts({"toolUseResult": {"content": [{"text": text}]}}))
    assert list(list_said_texts({"result": PACK, "more": "said"})) == ["said"]


@pytest.mark.parametrize(
    "said",
    [
        "What does Commonplace, the shared memory of this team, know of zebrafish?",
        'The field "session_id": is missing in {"project": "shop"}',
        "You are the agent who broke the build",
    ],
)
def test_what_people_say_about_it_is_not_an_echo(said: str):
    assert remove_boot_echo(said) == said


def test_chat_marks_an_echo_and_the_title_is_what_was_said():
    line = samples.json_line(role="user", content=f"{INJECTED['start']}\n\nWhy is the cart empty?")
    reader = TranscriptReader()
    said = [(utterance.role, utterance.text) for utterance in reader.read(0, [line])]
    assert said == [("system", ECHO_TEXT), ("user", "Why is the cart empty?")]
    summary = reader.build_summary()
    assert (summary.title, summary.user_messages) == ("Why is the cart empty?", 1)


def test_message_that_is_nothing_but_an_echo_is_no_message():
    reader = TranscriptReader()
    line = samples.json_line(role="user", content=INJECTED["start"])
    assert [utterance.role for utterance in reader.read(0, [line])] == ["system"]
    assert (reader.build_summary().title, reader.build_summary().user_messages) == ("", 0)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "copilot", "opencode"])
def test_session_of_a_recorded_transcript_is_known_and_is_not_that_of_its_sub_agent(agent: str):
    lines = (Path(__file__).parent / "recorded" / f"{agent}.jsonl").read_bytes().splitlines()
    reader = TranscriptReader()
    reader.read(0, lines)
    assert reader.session_id == f"shop_{agent}_0000000000000000000000000000000004"


def test_session_id_that_somebody_quotes_is_not_the_transcripts():
    line = samples.json_line(
        role="user", content="Use session_id shop_bob_0000000000000000000000000000000004"
    )
    assert find_session_id(line) == ""
