"""Who said what, in each format."""

import json

import pytest
import samples

from commonplace.clock import SECOND
from commonplace.transcripts.reader import OutdatedState, TranscriptReader, Utterance

START = 1_787_220_000 * SECOND


def read_utterances(lines: list[bytes], **given: str) -> list[tuple[int, str, str, str]]:
    return [(each.line, each.role, each.text, each.tool) for each in TranscriptReader(**given).read(0, lines)]


def summarize(lines: list[bytes]) -> dict[str, object]:
    reader = TranscriptReader()
    reader.read(0, lines)
    summary = reader.build_summary()
    return {name: getattr(summary, name) for name in summary.__struct_fields__}


CLAUDE = [
    samples.json_line(type="file-history-snapshot", messageId="m", snapshot={}),
    samples.claude_prompt("Why is the cart empty?", 1),
    samples.claude_answer({"type": "thinking", "thinking": "hm", "signature": "x"}, n=2),
    samples.claude_answer(samples.text_block("Let me look."), n=3),
    samples.claude_answer(samples.tool_use_block("t1", "Read", file_path="/home/ann/shop/cart.py"), n=4),
    samples.claude_tool_result("t1", "def cart(): ...", 5),
    samples.claude_answer(samples.text_block("It is cleared twice."), n=6, message="msg_2"),
]


def test_claude_is_read_as_chat_without_the_bulk():
    assert TranscriptReader().read(0, CLAUDE) == [
        Utterance(1, "user", "Why is the cart empty?", START + 1 * SECOND),
        Utterance(3, "assistant", "Let me look.", START + 3 * SECOND),
        Utterance(4, "tool", "/home/ann/shop/cart.py", START + 4 * SECOND, "Read"),
        Utterance(6, "assistant", "It is cleared twice.", START + 6 * SECOND),
    ]


def test_claude_summary_counts_tokens_once_a_message():
    found = summarize(CLAUDE)
    assert {
        name: found[name]
        for name in ("input_tokens", "output_tokens", "cached_tokens", "tools", "tool_calls")
    } == {
        "input_tokens": 220,
        "output_tokens": 10,
        "cached_tokens": 2000,
        "tools": {"Read": 1},
        "tool_calls": 1,
    }
    assert (found["session"], found["cwd"], found["branch"], found["model"]) == (
        "5f0c",
        "/home/ann/shop",
        "main",
        "claude-opus-4-6",
    )
    assert (found["started_at"], found["ended_at"]) == (START + SECOND, START + 6 * SECOND)
    assert (found["format"], found["lines"], found["skipped_lines"]) == ("claude-code", 7, 0)


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([], "Fix it"),
        ([samples.json_line(type="summary", summary="Cart fixed", leafUuid="u1")], "Cart fixed"),
        ([samples.json_line(type="last-prompt", lastPrompt="Go on")], "Go on"),
        (
            [
                samples.json_line(type="ai-title", aiTitle="Cart bug"),
                samples.json_line(type="last-prompt", lastPrompt="x"),
            ],
            "Cart bug",
        ),
        (
            [
                samples.json_line(type="custom-title", customTitle="Mine"),
                samples.json_line(type="ai-title", aiTitle="x"),
            ],
            "Mine",
        ),
    ],
)
def test_claude_title_is_the_first_that_is_there_in_the_vendors_order(lines: list[bytes], title: str):
    first = [
        samples.claude_prompt("<local-command-stdout>ok</local-command-stdout>"),
        samples.claude_prompt("Caveat: The messages below were generated", 1),
        samples.claude_prompt("hidden", 2, isMeta=True),
        samples.claude_prompt("Fix it", 3),
        samples.claude_prompt("And that", 4),
    ]
    assert summarize([*first, *lines])["title"] == title


def test_claude_leaves_out_what_a_person_did_not_say():
    lines = [
        samples.claude_prompt(
            "<command-name>/review</command-name>\n<command-args>cart.py</command-args>", 1
        ),
        samples.claude_prompt("Go<system-reminder>be brief</system-reminder> on", 2),
        samples.claude_prompt("[Request interrupted by user]", 3),
        samples.claude_prompt("from a team mate", 4, teamName="team"),
        samples.claude_prompt("from a sub-agent", 5, isSidechain=True),
        samples.claude_prompt("This session is continued: the cart was fixed.", 6, isCompactSummary=True),
    ]
    assert read_utterances(lines) == [
        (0, "user", "/review cart.py", ""),
        (1, "user", "Go on", ""),
        (5, "summary", "This session is continued: the cart was fixed.", ""),
    ]


def test_claude_sub_agents_own_file_is_read_as_its_chat():
    lines = [
        samples.claude_prompt("Find callers", 1, isSidechain=True, agentId="a1"),
        samples.claude_answer(samples.text_block("Three."), n=2, isSidechain=True),
    ]
    assert read_utterances(lines) == [(0, "user", "Find callers", ""), (1, "assistant", "Three.", "")]
    assert summarize(lines)["is_child"] is True


def test_claude_compaction_is_counted_and_history_before_it_stays():
    lines = [
        *CLAUDE,
        samples.claude_line("system", None, 9, subtype="compact_boundary"),
        samples.claude_prompt("More", 10),
    ]
    assert summarize(lines)["compactions"] == 1
    assert [text for _, _, text, _ in read_utterances(lines)][0::4] == ["Why is the cart empty?", "More"]


CODEX_HEAD = [
    samples.codex_line(
        "session_meta",
        0,
        id="c0de",
        cwd="/home/ann/shop",
        timestamp="2026-08-20T10:00:00.000Z",
        git={"branch": "trunk"},
        source="cli",
    ),
    samples.codex_line("session_meta", 0, id="parent", cwd="/elsewhere"),
    samples.codex_line("turn_context", 0, cwd="/home/ann/shop", model="gpt-5.5"),
    samples.codex_message("developer", "You are Codex"),
    samples.codex_message("user", "<environment_context>\n<cwd>/home/ann</cwd></environment_context>"),
    samples.codex_message("user", "# AGENTS.md instructions for /home/ann"),
]


def test_codex_legacy_says_each_thing_once():
    lines = [
        *CODEX_HEAD,
        samples.codex_message("user", "continue", 1),
        samples.codex_line("event_msg", 1, type="user_message", message="continue"),
        samples.codex_line("event_msg", 2, type="agent_message", message="Done."),
        samples.codex_message("assistant", "Done.", 2),
        samples.codex_message("user", "continue", 3),
        samples.codex_line("event_msg", 3, type="user_message", message="continue"),
    ]
    assert read_utterances(lines) == [
        (6, "user", "continue", ""),
        (8, "assistant", "Done.", ""),
        (10, "user", "continue", ""),
    ]


def test_codex_paginated_says_each_thing_once():
    item = {"type": "UserMessage", "id": "i", "content": [{"type": "text", "text": "How do I fix this?"}]}
    reply = {"type": "AgentMessage", "id": "j", "content": [{"type": "Text", "text": "Like this."}]}
    lines = [
        *CODEX_HEAD,
        samples.codex_line("event_msg", 1, type="item_completed", item=item),
        samples.codex_message("user", "How do I fix this?", 1),
        samples.codex_message("assistant", "Like this.", 2),
        samples.codex_line("event_msg", 2, type="item_completed", item=reply),
    ]
    assert read_utterances(lines) == [
        (6, "user", "How do I fix this?", ""),
        (8, "assistant", "Like this.", ""),
    ]


def test_codex_summary_tells_where_and_with_what():
    usage = {"input_tokens": 900, "cached_input_tokens": 800, "output_tokens": 50, "total_tokens": 950}
    lines = [
        *CODEX_HEAD,
        samples.codex_message("user", "Fix the cart", 1),
        samples.codex_line("event_msg", 2, type="token_count", info={"total_token_usage": usage}),
        samples.codex_line("event_msg", 3, type="token_count", info={"total_token_usage": usage}),
        samples.codex_line("event_msg", 3, type="token_count", info=None),
        samples.codex_line("compacted", 4, message="The cart was fixed.", replacement_history=[]),
    ]
    found = summarize(lines)
    kept = ("format", "session", "cwd", "branch", "model", "title", "compactions")
    assert [found[name] for name in kept] == [
        "codex",
        "c0de",
        "/home/ann/shop",
        "trunk",
        "gpt-5.5",
        "Fix the cart",
        1,
    ]
    assert (found["input_tokens"], found["output_tokens"], found["cached_tokens"]) == (100, 50, 800)


def test_codex_calls_show_their_command_and_the_files_of_a_patch():
    patch = (
        "*** Begin Patch\n*** Update File: cart.py\n@@\n-a\n+b\n*** Add File: docs/x.md\n+x\n*** End Patch"
    )
    shell = json.dumps({"command": ["bash", "-lc", "make test"], "workdir": "/home/ann/shop"})
    lines = [
        *CODEX_HEAD,
        samples.codex_line(
            "response_item", 1, type="function_call", name="shell", arguments=shell, call_id="a"
        ),
        samples.codex_line(
            "response_item", 2, type="custom_tool_call", name="apply_patch", input=patch, call_id="b"
        ),
        samples.codex_line(
            "response_item", 3, type="local_shell_call", call_id="c", action={"command": ["ls", "-l"]}
        ),
        samples.codex_line(
            "response_item", 4, type="function_call", name="odd", arguments="{not json", call_id="d"
        ),
    ]
    assert read_utterances(lines) == [
        (6, "tool", "make test", "shell"),
        (7, "tool", "cart.py, docs/x.md", "apply_patch"),
        (8, "tool", "ls -l", "local_shell"),
        (9, "tool", "{not json", "odd"),
    ]
    done = samples.codex_line(
        "response_item", 5, type="custom_tool_call_output", call_id="b", output="Success. Updated two files."
    )
    assert [(file.path, file.edits) for file in summarize([*lines, done])["files"]] == [
        ("cart.py", 1),
        ("docs/x.md", 1),
    ]


GEMINI = [
    samples.json_line(
        sessionId="9e", projectHash="ab", startTime="2026-08-20T10:00:00.000Z", kind="main", lastUpdated="bad"
    ),
    samples.gemini_line("user", "m1", [{"text": "List the files"}], 1),
    samples.gemini_line(
        "gemini",
        "m2",
        "Here they are.",
        2,
        model="gemini-3-pro",
        tokens={"input": 50, "output": 7, "cached": 20},
    ),
    samples.gemini_line(
        "gemini",
        "m2",
        "Here they are.",
        3,
        tokens={"input": 50, "output": 9, "cached": 20},
        toolCalls=[
            {
                "id": "c1",
                "name": "read_file",
                "args": {"absolute_path": "/a/b.py"},
                "status": "success",
                "result": [],
            }
        ],
    ),
    samples.gemini_line("info", "m3", "Update available", 4),
    samples.json_line(**{"$set": {"lastUpdated": "2026-08-20T10:00:30.000Z", "summary": "Listing"}}),
    samples.json_line(**{"$rewindTo": "m2"}),
]


def test_gemini_lines_say_a_message_once_however_often_it_is_told():
    assert read_utterances(GEMINI) == [
        (1, "user", "List the files", ""),
        (2, "assistant", "Here they are.", ""),
        (3, "tool", "/a/b.py", "read_file"),
    ]
    found = summarize(GEMINI)
    assert (found["title"], found["input_tokens"], found["output_tokens"], found["skipped_lines"]) == (
        "Listing",
        30,
        9,
        0,
    )
    assert found["ended_at"] == START + 30 * SECOND


@pytest.mark.parametrize("indent", [None, 2])
def test_gemini_document_of_old_is_read_like_lines(indent: int | None):
    messages = [json.loads(line) for line in GEMINI[1:5]]
    document = {
        "sessionId": "9e",
        "projectHash": "ab",
        "summary": "Listing",
        "messages": messages,
        "kind": "main",
    }
    text = json.dumps(document, indent=indent).encode()
    found = TranscriptReader(tool="gemini-cli")
    heard = found.read(0, text.split(b"\n"))
    assert [(each.role, each.text, each.at) for each in heard] == [
        ("user", "List the files", START + 1 * SECOND),
        ("assistant", "Here they are.", START + 2 * SECOND),
        ("tool", "/a/b.py", START + 3 * SECOND),
    ]
    assert (
        found.build_summary().format,
        found.build_summary().title,
        found.build_summary().skipped_lines,
    ) == (
        "gemini-cli",
        "Listing",
        0,
    )


def test_plain_lines_are_read_with_their_tools():
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    lines = [
        samples.json_line(role="system", content="You are kind"),
        samples.json_line(role="user", content="Look", timestamp=1_787_220_000),
        samples.json_line(role="assistant", content=None, tool_calls=[call]),
        samples.json_line(role="tool", tool_call_id="c1", content="a.py"),
        samples.json_line(role="assistant", content=[{"type": "text", "text": "One file."}]),
        samples.json_line(role="narrator", content="odd"),
    ]
    assert read_utterances(lines) == [
        (1, "user", "Look", ""),
        (2, "tool", "ls", "bash"),
        (4, "assistant", "One file.", ""),
    ]
    found = summarize(lines)
    assert (found["format"], found["title"], found["skipped_lines"], found["started_at"]) == (
        "plain",
        "Look",
        1,
        START,
    )


def test_reader_skips_and_counts_what_it_does_not_know():
    lines = [
        b"",
        b"not json",
        b"[1]",
        b"{}",
        samples.json_line(type="from-the-future", sessionId="x"),
        *CLAUDE,
    ]
    found = summarize(lines)
    assert (found["skipped_lines"], found["lines"], found["user_messages"]) == (4, 12, 1)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (b'{"role":"user","content":"half \\ud83d smile"}', "half ? smile"),
        (b'{"role":"user","content":"nul \\u0000 here","n":1e999}', "nul  here"),
        (b'{"role":"user","content":"raw \x01 \xff byte"}', "raw \x01 � byte"),
        (b'{"role":"user","content":"big","n":1' + b"0" * 5000 + b"}", "big"),
        (b'{"role":"user","content":"tab\there"}', "tab\there"),
    ],
)
def test_reader_reads_what_a_strict_decoder_refuses(broken: bytes, text: str):
    assert [each.text for each in TranscriptReader().read(0, [broken])] == [text]


@pytest.mark.parametrize("lines", [CLAUDE, GEMINI], ids=["claude", "gemini"])
def test_reader_goes_on_from_its_state_as_if_it_had_never_stopped(lines: list[bytes]):
    whole, parts, state = TranscriptReader(), [], b""
    heard = whole.read(0, lines)
    for number, line in enumerate(lines):
        reader = TranscriptReader(state)
        parts += reader.read(number, [line])
        state = reader.encode_state()
    assert parts == heard
    assert TranscriptReader(state).build_summary() == whole.build_summary()


def test_reader_over_a_page_reads_a_sub_agents_file_as_its_own():
    lines = [samples.claude_prompt(f"step {n}", n, isSidechain=True) for n in range(10)]
    first = TranscriptReader()
    first.read(0, lines)
    assert [each.text for each in TranscriptReader.for_pages(first.encode_state()).read(7, lines[7:9])] == [
        "step 7",
        "step 8",
    ]


def test_reader_refuses_a_state_of_another_version():
    with pytest.raises(OutdatedState):
        TranscriptReader(b"\x00" + TranscriptReader().encode_state()[1:])


@pytest.mark.slow
def test_state_stays_small_however_much_was_read():
    reader = TranscriptReader()
    for n in range(3000):
        reader.read(
            2 * n,
            samples.claude_command(
                n, f"make target-{n}", f"Exit code 2\nValueError: odd {'x' * n}", failed=True
            ),
        )
    summary = reader.build_summary()
    assert (len(summary.commands), len(summary.errors)) == (200, 200)
    assert len(reader.encode_state()) < 100_000
