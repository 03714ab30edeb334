"""Transcripts of the team's day (page_team): a session of Claude Code with an error and what overcame it, one of Codex."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from page_stage import PROJECT

Lines = list[dict[str, Any]]


def begin_session(agent: str, session: str) -> str:
    """What a hook tells an agent at its start, by which its transcript shows whose session it is."""
    return (
        f"You are the agent {agent} in the project {PROJECT} of Commonplace, the shared memory of this team's agents"
        f" (tools memory_*). Your session is already started; its session_id for these tools: {session}\n"
        "The state of the project now, as memory_start_session returned it:\n{}"
    )


def write_claude_transcript(session: str) -> str:
    """A session of Claude Code with tools, an error and what overcame it."""
    attached = {"type": "hook_additional_context", "content": [begin_session("claude-checkout", session)]}
    lines: Lines = [
        {"type": "attachment", "uuid": "u0", "attachment": attached | {"hookEvent": "SessionStart"}}
    ]
    began = datetime.now(UTC) - timedelta(minutes=95)

    def say(kind: str, content: Any) -> None:
        at = (began + timedelta(seconds=40 * len(lines))).isoformat().replace("+00:00", "Z")
        message = {"role": kind, "content": content, "model": "claude-opus-4-6", "id": f"m{len(lines)}"}
        if kind == "assistant":
            message["usage"] = {"input_tokens": 3100, "output_tokens": 940, "cache_read_input_tokens": 2900 * len(lines)}  # fmt: skip
        lines.append({"type": kind, "timestamp": at, "cwd": "/home/eve/shop", "gitBranch": "feature/vat-per-line", "message": message})  # fmt: skip

    def use(tool: str, given: dict[str, str], output: str, *, failed: bool = False) -> None:
        name = f"t{len(lines)}"
        say("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": given}])
        say("user", [{"type": "tool_result", "tool_use_id": name, "content": output, "is_error": failed}])

    say("user", "VAT must be rounded per line. Start with a test that fails.")
    say("assistant", [{"type": "text", "text": "I look at how the cart sums its lines first."}])
    use("Read", {"file_path": "/home/eve/shop/src/cart.py"}, "def total(self):\n    return round(sum(...))")
    use("Write", {"file_path": "/home/eve/shop/tests/test_vat.py"}, "ok")
    failed = "E   ModuleNotFoundError: No module named 'babel'\n1 error in 0.31s"
    use("Bash", {"command": "python -m pytest -q tests/test_vat.py"}, failed, failed=True)
    say("assistant", [{"type": "text", "text": "Babel is missing in the environment of the tests; it belongs to the extra `tax`."}])  # fmt: skip
    use("Bash", {"command": "uv sync --extra tax"}, "Installed 1 package in 12ms\n + babel==2.17.0")
    use("Bash", {"command": "python -m pytest -q tests/test_vat.py"}, "1 failed, 3 passed in 0.42s\nE   assert 1190 == 1191", failed=True)  # fmt: skip
    use("Edit", {"file_path": "/home/eve/shop/src/tax/vat.py"}, "ok")
    use("Edit", {"file_path": "/home/eve/shop/src/cart.py"}, "ok")
    use("Bash", {"command": "python -m pytest -q tests/test_vat.py"}, "4 passed in 0.40s")
    say("assistant", [{"type": "text", "text": "Lines are rounded half to even now and the total is their sum. Four tests pass."}])  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines)


def write_codex_transcript(session: str) -> str:
    """A session of Codex that has used most of its context."""
    at = (datetime.now(UTC) - timedelta(minutes=3)).isoformat().replace("+00:00", "Z")
    begun = [{"type": "input_text", "text": begin_session("codex-invoices", session)}]
    used = {"input_tokens": 412_000, "cached_input_tokens": 371_000, "output_tokens": 18_400}
    last = {"input_tokens": 176_000, "cached_input_tokens": 171_000, "output_tokens": 800}
    counted = {"total_token_usage": used, "last_token_usage": last, "model_context_window": 258_400}
    payloads = (
        ("session_meta", {"id": "01a1e578", "cwd": "/home/eve/shop-1"}),
        ("response_item", {"type": "message", "role": "developer", "content": begun}),
        ("event_msg", {"type": "user_message", "message": "Write invoices as PDF/A-3."}),
        ("event_msg", {"type": "token_count", "info": counted}),
    )
    lines = [{"timestamp": at, "type": kind, "payload": payload} for kind, payload in payloads]
    return "".join(json.dumps(line) + "\n" for line in lines)
