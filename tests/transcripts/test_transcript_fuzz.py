"""Any bytes in, no exception out, and time in step with size."""

import json
from time import process_time

import msgspec
import pytest
import samples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commonplace.journal.error_messages import find_errors, normalize_error
from commonplace.transcripts.reader import TranscriptReader

WORDS = ("type", "user", "assistant", "message", "content", "role", "payload", "response_item", "event_msg", "id",
         "timestamp", "tool_use", "tool_result", "text", "input", "name", "gemini", "$set", "messages", "toolCalls",
         "item_completed", "item", "function_call", "function_call_output", "output", "arguments", "call_id", "usage",
         "projectHash", "sessionId", "summary", "session_meta", "command", "exit_code", "metadata", "tool_calls",
         "function", "status", "result", "success", "tokens", "CommandExecution", "is_error", "tool_use_id",
         "uuid", "parts", "systemPayload", "subtype", "functionCall", "functionResponse", "toolCallResult", "goose",
         "working_dir", "message_count", "created", "toolRequest", "toolResponse", "toolCall", "toolResult", "value")  # fmt: skip
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(WORDS)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=25,
)
lines = st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode())
shaped = st.dictionaries(st.sampled_from(WORDS), values, max_size=8).map(
    lambda value: json.dumps(value).encode()
)


def is_storable(utterance: object) -> bool:
    text = msgspec.json.encode(utterance).decode()
    return "\\u0000" not in text


@settings(max_examples=120, deadline=None)
@given(
    st.lists(lines | shaped, max_size=8),
    st.sampled_from(
        ["", "claude-code", "codex", "gemini-cli", "opencode", "copilot-cli", "qwen-code", "goose", "plain"]
    ),
)
@example([b"{", b'"messages": [', b"{", b'"type": "user"', b"}", b"]", b"}"], "gemini-cli")
@pytest.mark.slow
def test_reader_takes_any_lines(given_lines: list[bytes], hint: str):
    reader = TranscriptReader(tool=hint)
    heard = reader.read(0, given_lines)
    assert all(is_storable(each) for each in heard)
    again = TranscriptReader(reader.encode_state())
    assert again.build_summary() == reader.build_summary()


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=400), st.booleans())
def test_errors_are_found_in_any_output(output: str, failed: bool):
    for fault in find_errors(output, failed=failed):
        assert normalize_error(fault.normalized) is not None
        assert len(fault.fingerprint) == 16


def _shell_result(output: str) -> dict[str, object]:
    args = {"command": "make"}
    return {"id": "c", "name": "run_shell_command", "args": args, "status": "success", "result": output}


HOSTILE = {
    "deep lists": lambda n: b"[" * n,
    "deep objects": lambda n: b'{"a":' * (n // 5),
    "deep message": lambda n: b'{"role":"user","content":' + b"[" * (n // 2) + b"]" * (n // 2) + b"}",
    "quotes": lambda n: b'{"role":"user","content":"' + b'\\"' * (n // 2),
    "reminders": lambda n: samples.claude_prompt("<system-reminder>" * (n // 17)),
    "commands": lambda n: samples.claude_prompt("<command-name>" * (n // 14)),
    "elements": lambda n: samples.claude_prompt("<bash-input>a</bash-input> b" * (n // 27)),
    "elements inside each other": lambda n: samples.claude_prompt(
        "<bash-input><ide_selection>" * (n // 27) + "</bash-input>"
    ),
    "report": lambda n: samples.gemini_line(
        "gemini", "m", "", toolCalls=[_shell_result("\nDirectory: x" * (n // 13))]
    ),
    "trailer": lambda n: samples.gemini_line(
        "gemini", "m", "", toolCalls=[_shell_result("Output: " + "\nSignal: 9" * (n // 11) + "z")]
    ),
    "many blocks": lambda n: samples.claude_answer(*[samples.text_block("a")] * (n // 30)),
    "long command": lambda n: samples.claude_answer(
        samples.tool_use_block("t", "Bash", command="cd " * (n // 3))
    ),
    "failures": lambda n: samples.claude_tool_result(
        "t", "\n".join(["Error: " + "a.'/" * 90] * (n // 400)), failed=True
    ),
    "patch": lambda n: samples.claude_answer(
        samples.tool_use_block("t", "x", command="*** Begin Patch\n" + "*** Add File: a\n" * (n // 16))
    ),
}


@pytest.mark.parametrize("made", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.slow
def test_reader_spends_time_in_step_with_size(made):
    def seconds(size: int) -> float:
        line = made(size)
        started = process_time()
        call = samples.claude_answer(samples.tool_use_block("t", "Bash", command="make"))
        TranscriptReader().read(0, [call, line, call, line])
        TranscriptReader(tool="gemini-cli").read(0, [line])
        return process_time() - started

    seconds(1000)
    small, large = seconds(50_000), min(seconds(800_000), seconds(800_000))
    assert large < 16 * 10 * max(small, 0.002)


@pytest.mark.slow
def test_document_of_hostile_lines_is_read_in_step_with_size():
    def seconds(size: int) -> float:
        lines = [b"{", b'"messages": [', b"{", b'"' + b'\\"' * (size // 2), *([b'"a"'] * (size // 4))]
        started = process_time()
        TranscriptReader().read(0, lines)
        return process_time() - started

    small, large = seconds(100_000), seconds(800_000)
    assert large < 8 * 10 * max(small, 0.002)
