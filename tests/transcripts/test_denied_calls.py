"""What a person denied at the prompt of their program, in the words of each transcript."""

import json
from typing import Any

import pytest

from commonplace.transcripts.ended_calls import DeniedCall, list_denied_calls

CODEX_CALL = {
    "type": "function_call",
    "name": "exec_command",
    "call_id": "c1",
    "arguments": '{"cmd": "rm -rf x"}',
}
COPILOT_CALL = {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "rm -rf x"}}


def codex(*payloads: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "response_item", "payload": payload} for payload in payloads]


def codex_output(text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "c1", "output": text}


def copilot_end(code: str, message: str) -> dict[str, Any]:
    data = {"toolCallId": "c1", "success": False, "error": {"code": code, "message": message}}
    return {"type": "tool.execution_complete", "data": data}


def gemini(status: str) -> dict[str, Any]:
    call = {"id": "g1", "name": "run_shell_command", "args": {"command": "rm -rf x"}, "status": status}
    return {
        "id": "m1",
        "type": "gemini",
        "content": "",
        "timestamp": "2026-11-16T10:00:00Z",
        "toolCalls": [call],
    }


@pytest.mark.parametrize(
    ("tool", "records", "is_denied"),
    [
        ("codex", codex(CODEX_CALL, codex_output("exec command rejected by user")), True),
        ("codex", codex(CODEX_CALL, codex_output('exec_command failed: x Rejected("not now")')), True),
        ("codex", codex(CODEX_CALL, codex_output("aborted by user after 3s")), False),
        ("codex", codex(CODEX_CALL, codex_output("Command blocked by PreToolUse hook: no")), False),
        ("gemini-cli", [gemini("cancelled")], True),
        ("gemini-cli", [gemini("success")], False),
        (
            "copilot-cli",
            [{"type": "tool.execution_start", "data": COPILOT_CALL}, copilot_end("denied", "No")],
            True,
        ),
        (
            "copilot-cli",
            [
                {"type": "tool.execution_start", "data": COPILOT_CALL},
                copilot_end("denied", "Denied by preToolUse hook: x"),
            ],
            False,
        ),
        ("unknown", [gemini("cancelled")], False),
    ],
)
def test_only_what_a_person_denied_counts(tool: str, records: list[dict[str, Any]], is_denied: bool):
    lines = [json.dumps(record).encode() for record in records]
    assert list(list_denied_calls(lines, tool)) == ([DeniedCall("rm -rf x", "", "")] if is_denied else [])


def test_broken_lines_are_skipped():
    assert list(list_denied_calls([b"", b"{", b"[]", b'{"type": 1}'], "codex")) == []
