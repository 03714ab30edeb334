"""Lines as the agents write them."""

import json
from typing import Any

T0 = "2026-08-20T10:00:{:02d}.000Z"


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def claude(kind: str, message: dict[str, Any] | None, n: int = 0, **more: Any) -> bytes:
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
    return line(**fields | ({"message": message} if message is not None else {}) | more)


def prompt(text: str, n: int = 0, **more: Any) -> bytes:
    return claude("user", {"role": "user", "content": text}, n, **more)


def answer(*blocks: dict[str, Any], n: int = 0, message: str = "msg_1", **more: Any) -> bytes:
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
    return claude("assistant", body, n, **more)


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def tool(identity: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def result(identity: str, output: str, n: int = 0, *, failed: bool = False) -> bytes:
    block = {"type": "tool_result", "tool_use_id": identity, "content": output, "is_error": failed}
    return claude("user", {"role": "user", "content": [block]}, n, toolUseResult={"stdout": output})


def ran(n: int, command: str, output: str, *, failed: bool = False) -> list[bytes]:
    """A command that Claude runs, and what it prints."""
    call = answer(tool(f"t{n}", "Bash", command=command), n=n, message=f"msg_t{n}")
    return [call, result(f"t{n}", output, n + 1, failed=failed)]


def edited(n: int, path: str) -> list[bytes]:
    call = answer(tool(f"t{n}", "Edit", file_path=path, old_string="a", new_string="b"), n=n)
    return [call, result(f"t{n}", f"The file {path} has been updated.", n + 1)]


def codex(kind: str, n: int = 0, **payload: Any) -> bytes:
    return line(timestamp=T0.format(n % 60), type=kind, payload=payload)


def spoken(role: str, text: str, n: int = 0) -> bytes:
    content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
    return codex("response_item", n, type="message", role=role, content=content)


def gemini(kind: str, identity: str, content: Any, n: int = 0, **more: Any) -> bytes:
    return line(id=identity, timestamp=T0.format(n % 60), type=kind, content=content, **more)
