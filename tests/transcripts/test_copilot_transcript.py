"""Copilot CLI's transcript: a session of version 1.0.102 as it was recorded, with paths and session ids replaced.

A person asks for work; the model starts its session, runs a failing command, creates a file and a sub-agent, and the
conversation is compacted. Hooks of Commonplace run.
"""

import json
from pathlib import Path

import samples

from commonplace.transcripts.reader import TranscriptReader

LINES = (Path(__file__).parent / "recorded" / "copilot.jsonl").read_bytes().splitlines()


def read_recorded(
    lines: list[bytes] = LINES, tool: str = ""
) -> tuple[list[tuple[str, str, str]], TranscriptReader]:
    reader = TranscriptReader(tool=tool)
    return [(said.role, said.text, said.tool) for said in reader.read(0, lines)], reader


def event(kind: str, agent: str = "", **data: object) -> bytes:
    more = {"agentId": agent} if agent else {}
    return samples.json_line(
        type=kind, data=data, id="e1", timestamp=samples.T0.format(1), parentId=None, **more
    )


def test_session_is_read_as_chat_without_hooks_prompts_for_the_model_and_sub_agents():
    said, reader = read_recorded()
    assert said == [
        ("user", "Round the cart totals, please", ""),
        ("tool", "", "commonplace-memory_start_session"),
        ("tool", "python3 nosuch.py", "bash"),
        ("error", "/usr/bin/python3: can't open file '/home/ann/shop/nosuch.py': [Errno 2] No such file or directory", "bash"),
        ("tool", "/home/ann/shop/cart.py", "create"),
        ("tool", "true", "bash"),
        ("tool", "sub", "task"),
        ("assistant", "I rounded the cart totals.", ""),
        ("summary", "I rounded the cart totals.", ""),
        ("user", "And now the tax", ""),
    ]  # fmt: skip
    summary = reader.build_summary()
    assert (summary.format, summary.title, summary.cwd, summary.branch, summary.model) == (
        "copilot-cli", "Round the cart totals, please", "/home/ann/shop", "main", "gpt-4.1",
    )  # fmt: skip
    assert (summary.user_messages, summary.compactions, summary.skipped_lines) == (2, 1, 0)
    assert (summary.input_tokens, summary.output_tokens) == (1, 1)


def test_files_and_commands_of_a_session_are_logged_with_their_exit_codes():
    summary = read_recorded()[1].build_summary()
    assert [(file.path, file.edits) for file in summary.files] == [
        ("/home/ann/shop/cart.py", 1),
        ("/home/ann/shop/tax.py", 1),
    ]
    assert {command.command: command.exit_code for command in summary.commands} == {
        "python3 nosuch.py": 2,
        "true": 0,
    }


def test_format_is_known_by_its_lines_and_not_taken_for_another():
    assert read_recorded(LINES[:8])[1].build_summary().format == "copilot-cli"
    assert read_recorded(LINES[:8], "codex")[1].build_summary().format == "copilot-cli"
    assert (
        read_recorded([samples.claude_prompt("hello")], "copilot-cli")[1].build_summary().format
        == "claude-code"
    )


def test_denied_call_is_no_error_and_a_failed_one_is():
    start = event("tool.execution_start", toolCallId="c1", toolName="edit", arguments={"path": "a.py"})
    denied = event("tool.execution_complete", toolCallId="c1", success=False, error={"message": "Denied by preToolUse hook: leased", "code": "denied"})  # fmt: skip
    failed = event("tool.execution_complete", toolCallId="c1", success=False, error={"message": "Error: no match found", "code": "failure"})  # fmt: skip
    assert [role for role, *_ in read_recorded([start, denied])[0]] == ["tool"]
    said, reader = read_recorded([start, failed])
    assert [role for role, *_ in said] == ["tool", "error"]
    assert reader.build_summary().files == []


def test_patch_names_its_files_and_equal_call_ids_of_sub_agents_are_told_apart():
    patch = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-a\n+b\n*** End Patch\n"
    lines = [
        event("tool.execution_start", toolCallId="call_0", toolName="apply_patch", arguments=patch),
        event("tool.execution_start", "child", toolCallId="call_0", toolName="bash", arguments={"command": "make"}),
        event("tool.execution_complete", "child", toolCallId="call_0", success=True, shellExecution={"exitCode": 2}, result={"content": "x\n<shellId: 1 completed with exit code 2>"}),
        event("tool.execution_complete", toolCallId="call_0", success=True, result={"content": "Modified 1 file(s)"}),
    ]  # fmt: skip
    summary = read_recorded(lines)[1].build_summary()
    assert [(file.path, file.edits) for file in summary.files] == [("src/cart.py", 1)]
    assert [(command.command, command.exit_code) for command in summary.commands] == [("make", 2)]


def test_prompt_of_the_program_is_not_the_persons():
    said, reader = read_recorded(
        [event("user.message", content="Continue with the plan", source="skill-plan")]
    )
    assert said == [("system", "Continue with the plan", "")]
    assert reader.build_summary().title == ""


def test_odd_lines_are_skipped_and_unknown_events_are_quiet():
    odd = [
        b'{"type": "user.message", "data": 5}',
        event("session.mode_changed", mode="plan"),
        b"{",
        event("other"),
    ]
    said, reader = read_recorded([*LINES[:1], *odd])
    assert (said, reader.build_summary().skipped_lines) == ([], 3)
    assert json.loads(LINES[0])["type"] == "session.start"
