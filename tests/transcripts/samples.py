"""Lines as the agents write them."""

import json
from typing import Any

T0 = "2026-08-20T10:00:{:02d}.000Z"


def json_line(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def claude_line(kind: str, message: dict[str, Any] | None, n: int = 0, **more: Any) -> bytes:
    fields = {
        "type": kind,
        "uuid": f"u{n}",
        "parentUuid": f"u{n - 1}" if n else None,
        "sessionId": "5f0c",
        "timestamp": T0.format(n % 60),
        "cwd": "/home/ann/shop",
        "gitBranch": "main",
        "isSidechain": False,
    }
    return json_line(**fields | ({"message": message} if message is not None else {}) | more)


def claude_prompt(text: str, n: int = 0, **more: Any) -> bytes:
    return claude_line("user", {"role": "user", "content": text}, n, **more)


def claude_answer(*blocks: dict[str, Any], n: int = 0, message: str = "msg_1", **more: Any) -> bytes:
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
    }
    body = {
        "id": message,
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": list(blocks),
        "usage": usage,
    }
    return claude_line("assistant", body, n, **more)


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def tool_use_block(identity: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def claude_tool_result(identity: str, output: str, n: int = 0, *, failed: bool = False) -> bytes:
    block = {"type": "tool_result", "tool_use_id": identity, "content": output, "is_error": failed}
    return claude_line("user", {"role": "user", "content": [block]}, n, toolUseResult={"stdout": output})


def claude_command(n: int, command: str, output: str, *, failed: bool = False) -> list[bytes]:
    """A command that Claude runs, and what it prints."""
    call = claude_answer(tool_use_block(f"t{n}", "Bash", command=command), n=n, message=f"msg_t{n}")
    return [call, claude_tool_result(f"t{n}", output, n + 1, failed=failed)]


def claude_edit(n: int, path: str) -> list[bytes]:
    call = claude_answer(tool_use_block(f"t{n}", "Edit", file_path=path, old_string="a", new_string="b"), n=n)
    return [call, claude_tool_result(f"t{n}", f"The file {path} has been updated.", n + 1)]


def codex_line(kind: str, n: int = 0, **payload: Any) -> bytes:
    return json_line(timestamp=T0.format(n % 60), type=kind, payload=payload)


def codex_message(role: str, text: str, n: int = 0) -> bytes:
    content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
    return codex_line("response_item", n, type="message", role=role, content=content)


def gemini_line(kind: str, identity: str, content: Any, n: int = 0, **more: Any) -> bytes:
    return json_line(id=identity, timestamp=T0.format(n % 60), type=kind, content=content, **more)
