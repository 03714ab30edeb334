"""Realistic transcripts from a fixed seed: people and agents who work on Python's standard library.

Tool output is source code, so that it compresses as source does; signatures and encrypted thoughts do not compress;
every line has the ids and token counts that the agents write.
"""

import ast
import base64
import json
import random
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

FILES = 400
ERRORS = (
    "ModuleNotFoundError: No module named '{name}'",
    "AttributeError: module '{module}' has no attribute '{name}'",
    "TypeError: {name}() missing 1 required positional argument: '{other}'",
    "KeyError: '{name}'",
    "ImportError: cannot import name '{name}' from '{module}'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/home/ann/src/{module}/{name}.cfg'",
    "AssertionError: {name} returned {number}",
)
ASKED = (
    "Please look at {name} in {path}: {said}",
    "The tests of {module} fail since yesterday. Find out why {name} does not do what it says: {said}",
    "Rename {other} so that it is clear what it does, and check every caller of {name}.",
    "Can you explain how {name} and {other} work together? {said}",
    "Make {name} faster without changing what it returns. {said}",
)
ANSWERED = (
    "{name} lives in {path}. {said} I will change it and run the tests of {module}.",
    "The cause is in {other}: it is called before {name} has finished. {said}",
    "I changed {name} so that {other} gets the value it expects, and the tests of {module} pass now.",
    "Let me read {path} first. {said}",
    "There are two ways: let {other} check its argument, or let {name} do so once. {said} The second is simpler.",
    "Done. {name} no longer depends on {other}; {said}",
)


@cache
def read_library_sources() -> list[tuple[str, str, list[str], list[str]]]:
    """(path, text, names, sentences) of the library's larger files."""
    folder = Path(sysconfig.get_path("stdlib"))
    found = []
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts or path.stat().st_size < 8000:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        names, sentences = _read_names_and_docstrings(tree)
        if len(names) > 4 and len(sentences) > 4:
            found.append((str(path.relative_to(folder)), text, names, sentences))
        if len(found) == FILES:
            break
    return found


def _read_names_and_docstrings(tree: ast.AST) -> tuple[list[str], list[str]]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    texts = [" ".join((ast.get_docstring(node) or "").split()) for node in nodes]
    return [node.name for node in nodes], [text[:400] for text in texts if len(text) > 30]


class GeneratedTranscript:
    """One session: its lines, and questions that it answers."""

    def __init__(self, n: int, size: int) -> None:
        self._pick = random.Random(n)
        self._id = self._random_hex(32)
        self._n, self._calls = 0, 0
        self.lines: list[bytes] = []
        self.errors: list[str] = []
        self.said: list[str] = []
        self.subjects: list[str] = []
        kind = "codex" if n % 4 == 3 else "claude"
        self._words, self._tool = getattr(self, f"_{kind}_words"), getattr(self, f"_{kind}_tool")
        if kind == "codex":
            meta = {"id": self._id, "cwd": "/home/ann/src", "source": "cli", "git": {"branch": "main"}}
            self._add_codex_line("session_meta", meta)
        while sum(map(len, self.lines)) < size:
            self._add_turn()

    @property
    def content(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def _add_turn(self) -> None:
        self._path, self._text, names, sentences = self._pick.choice(read_library_sources())
        self._known = {
            "name": self._pick.choice(names),
            "other": self._pick.choice(names),
            "path": self._path,
            "module": Path(self._path).stem,
            "said": self._pick.choice(sentences),
            "number": self._pick.randrange(1000),
        }
        if self._pick.random() < 0.3:
            self._add_words("user", ASKED)
        self._add_words("assistant", ANSWERED)
        for _ in range(self._pick.randrange(1, 4)):
            self._pick.choice((self._read_file, self._read_file, self._run_tests, self._edit_file))()

    def _add_words(self, role: str, templates: tuple[str, ...]) -> None:
        words = " ".join(
            each.format(**self._known) for each in self._pick.sample(templates, self._pick.randrange(1, 4))
        )
        self.said.append(words)
        self.subjects.append("{name} {other} {module}".format(**self._known))
        self._words(role, words)

    def _read_file(self) -> None:
        start = self._pick.randrange(max(1, len(self._text) - 6000))
        excerpt = self._text[start : start + self._pick.randrange(400, 4000)]
        numbered = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(excerpt.split("\n"), start // 40))
        self._tool("Read", {"file_path": f"/home/ann/src/{self._path}"}, numbered)

    def _run_tests(self) -> None:
        command = f"python -m pytest tests/test_{self._known['module']}.py -q"
        passed = "\n".join(
            f"tests/test_{self._known['module']}.py::test_{name}_{self._pick.randrange(99)} PASSED"
            for name in [self._known["name"], self._known["other"]] * self._pick.randrange(2, 12)
        )
        if self._pick.random() > 0.3:
            self._tool(
                "Bash", {"command": command}, f"{passed}\n{self._pick.randrange(9, 99)} passed in 1.2s"
            )
            return
        error = self._pick.choice(ERRORS).format(**self._known)
        self.errors.append(error)
        trace = (
            f'  File "/home/ann/src/{self._path}", line {self._pick.randrange(900)}, in {self._known["name"]}'
        )
        output = (
            f"Exit code 1\n{passed}\nTraceback (most recent call last):\n{trace}\n{error}\n1 failed in 1.2s"
        )
        self._tool("Bash", {"command": command}, output, failed=True)

    def _edit_file(self) -> None:
        start = self._pick.randrange(max(1, len(self._text) - 800))
        old = self._text[start : start + self._pick.randrange(100, 700)]
        given = {
            "file_path": f"/home/ann/src/{self._path}",
            "old_string": old,
            "new_string": old.replace("self", "own"),
        }
        self._tool(
            "Edit", given, f"The file /home/ann/src/{self._path} has been updated.\n{given['new_string']}"
        )

    def _add_claude_line(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        self._n += 1
        line = {
            "parentUuid": self._random_uuid(),
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ann/src",
            "sessionId": self._id,
            "version": "2.1.240",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": self._random_uuid(),
            "timestamp": f"2026-08-{1 + self._n // 1440 % 28:02d}T{self._n // 60 % 24:02d}:{self._n % 60:02d}:00.000Z",
        }
        self.lines.append(json.dumps(line | more, ensure_ascii=False).encode())

    def _claude_words(self, role: str, words: str) -> None:
        if role == "user":
            self._add_claude_line("user", {"role": "user", "content": words})
            return
        message = f"msg_{self._random_hex(24)}"
        thought = {"type": "thinking", "thinking": self._known["said"], "signature": self._random_base64(300)}
        for block in (thought, {"type": "text", "text": words}):
            self._add_claude_line(
                "assistant",
                self._build_claude_message(message, block),
                requestId=f"req_{self._random_hex(24)}",
            )

    def _build_claude_message(self, message: str, block: dict[str, Any]) -> dict[str, Any]:
        usage = {
            "input_tokens": self._pick.randrange(20),
            "cache_creation_input_tokens": self._pick.randrange(9000),
            "cache_read_input_tokens": self._pick.randrange(90_000),
            "output_tokens": self._pick.randrange(900),
            "service_tier": "standard",
        }
        return {"id": message, "type": "message", "role": "assistant", "model": "claude-opus-4-6",
                "content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip

    def _claude_tool(self, name: str, given: dict[str, Any], output: str, *, failed: bool = False) -> None:
        call = f"toolu_{self._random_hex(24)}"
        block = {"type": "tool_use", "id": call, "name": name, "input": given}
        self._add_claude_line(
            "assistant",
            self._build_claude_message(f"msg_{self._random_hex(24)}", block),
            requestId=f"req_{self._random_hex(24)}",
        )
        result = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": failed}
        shown = {"stdout": output, "stderr": "", "interrupted": False}
        if name == "Read":
            shown = {
                "type": "text",
                "file": {"filePath": given["file_path"], "content": output, "numLines": 60},
            }
        self._add_claude_line("user", {"role": "user", "content": [result]}, toolUseResult=shown)

    def _add_codex_line(self, kind: str, payload: dict[str, Any]) -> None:
        self._n += 1
        at = f"2026-08-{1 + self._n // 1440 % 28:02d}T{self._n // 60 % 24:02d}:{self._n % 60:02d}:00.000Z"
        line = {"timestamp": at, "type": kind, "payload": payload}
        self.lines.append(json.dumps(line, ensure_ascii=False).encode())

    def _codex_words(self, role: str, words: str) -> None:
        content = [{"type": "input_text" if role == "user" else "output_text", "text": words}]
        if role == "assistant":
            summary = [{"type": "summary_text", "text": self._known["said"]}]
            self._add_codex_line(
                "response_item",
                {"type": "reasoning", "summary": summary, "encrypted_content": self._random_base64(700)},
            )
        self._add_codex_line("response_item", {"type": "message", "role": role, "content": content})
        self._add_codex_line(
            "event_msg", {"type": "user_message" if role == "user" else "agent_message", "message": words}
        )

    def _codex_tool(self, name: str, given: dict[str, Any], output: str, *, failed: bool = False) -> None:
        call = f"call_{self._random_hex(24)}"
        command = given.get("command") or f"sed -n 1,200p {given['file_path']}"
        arguments = json.dumps({"command": ["bash", "-lc", command], "workdir": "/home/ann/src"})
        if name == "Edit":
            patch = f"*** Begin Patch\n*** Update File: {self._path}\n@@\n-{given['old_string']}\n+{given['new_string']}\n*** End Patch"
            self._add_codex_line(
                "response_item",
                {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": call},
            )
        else:
            self._add_codex_line(
                "response_item",
                {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call},
            )
        told = json.dumps({"output": output, "metadata": {"exit_code": int(failed), "duration_seconds": 0.3}})
        self._add_codex_line(
            "response_item", {"type": "function_call_output", "call_id": call, "output": told}
        )

    def _random_hex(self, digits: int) -> str:
        return f"{self._pick.getrandbits(4 * digits):0{digits}x}"

    def _random_uuid(self) -> str:
        digits = self._random_hex(32)
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _random_base64(self, size: int) -> str:
        return base64.b64encode(self._pick.randbytes(size)).decode()
