"""What is fuzzed on the wire: each target makes one random request after the other."""

import gzip
import json
from collections.abc import Callable
from typing import Any

from fuzz_server import FuzzRequest, FuzzServer
from fuzz_values import HOSTILE_TEXTS, ValueMaker, encode_json

from commonplace.catalogue import CATALOGUE
from commonplace.operation import OperationFamily
from commonplace.room import list_operations
from commonplace.tool_schema import input_schema

SCHEMAS = {name: input_schema(tool) for name, tool in CATALOGUE.tools.items()}
# Ends the sessions that the other calls need.
_RARE = frozenset({"memory_end_session", "memory_project"})
_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_METHODS = ("tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list", "prompts/get", "completion/complete", "initialize", "ping", "logging/setLevel", "resources/subscribe", "server/discover", "notifications/initialized", "notifications/cancelled", "x")  # fmt: skip
_TRANSCRIPT = [
    {"type": "user", "sessionId": "s", "timestamp": "2026-01-15T08:00:00Z", "message": {"role": "user", "content": "fix it"}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "ok"}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "ModuleNotFoundError: yaml"}]}},
    {"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c"}},
    {"type": "session_meta", "payload": {"id": "x", "cwd": "/tmp"}},
]  # fmt: skip
_REGEXES = ("(a+)+$", "[z-a]", "(?=x)", "a{1,1000}{1,1000}", "(", "\\", "(?P<n>x)(?P<n>y)", ".*" * 50, "^$", "[[:alpha:]]", "\\p{Greek}", "(?i)É", "a|" * 500, "\\b\\B", "x{0}", "(?s).*", "\x00")  # fmt: skip
_GLOBS = ("**", "**/*", "*" * 60, "a/**/b/**/c/**", "[a-", "[!a]*", "{a,b}/{c,d}", "src/", "./x", "a//b", "?" * 200, "*a*b*c*d*e*f*g*h*i*j*k*", "\\*", "dir/*.py", "**/**/**/**/**/x", "[]]", "[*]", "é*", "A/B", "../x")  # fmt: skip


class WireFuzzer:
    """Makes the requests of every target; `learn` takes ids from replies, so that later calls reach existing things."""

    def __init__(self, server: FuzzServer, seed: int) -> None:
        self.server = server
        self.values = ValueMaker(seed, {"project": ["shop"]})
        self.targets: dict[str, Callable[[], FuzzRequest]] = {
            "rest": self.make_rest_call,
            "mcp modern": self.make_modern_message,
            "mcp legacy": self.make_legacy_message,
            "bodies": self.make_damaged_body,
            "heads": self.make_damaged_head,
            "transcripts": self.make_transcript,
            "regexes": self.make_regex_search,
            "globs": self.make_lock_call,
            "resources": self.make_resource_read,
        }

    def prepare(self) -> None:
        """Fill the store with something to find."""
        server = self.server
        started = server.call("memory_start_session", project="shop", claude_instance="fuzz")
        session = {"session_id": started["session_id"]}
        space = server.call("register_workspace", machine="desk", tool="claude", project="shop")
        self.values.known |= {
            "session_id": [started["session_id"]],
            "agent_session": [started["session_id"]],
            "workspace_id": [space["workspace_id"]],
            "write_token": [space["write_token"]],
            "claude_instance": ["fuzz"],
        }
        self.learn(
            server.call("memory_record_learning", topic="Cart", content="Totals are in cents.", **session)
        )
        self.learn(server.call("memory_add_backlog_item", title="Fix the cart", **session))
        self.learn(server.call("create_session", purpose="Talk"))
        # Loads a validator of 15 MB, which would otherwise look like growth later.
        server.call("memory_define_spec", name="cart", version="1.0.0", content="{}", json_schema={"type": "object"}, **session)  # fmt: skip
        server.call("write_knowledge", path="notes/cart.md", content="# Cart\n\ncents", workspace_id=space["workspace_id"])  # fmt: skip
        self.values.known["path"] = ["notes/cart.md"]

    def learn(self, reply: Any) -> None:
        if not isinstance(reply, dict):
            return
        for name in ("id", "item_id", "doc_id", "message_id"):
            if isinstance(reply.get(name), str):
                for argument in ("doc_id", "item_id", "message_id", "id"):
                    self.values.known.setdefault(argument, []).append(reply[name])
                    del self.values.known[argument][:-20]

    def renew_session(self) -> None:
        started = self.server.call("memory_start_session", project="shop", claude_instance="fuzz")
        for name in ("session_id", "agent_session"):
            self.values.known[name] = [started["session_id"]]

    def pick_tool(self) -> str:
        name = self.values.dice.choice(list(SCHEMAS))
        return name if name not in _RARE or self.values.dice.random() < 0.2 else self.pick_tool()

    def make_call(self) -> tuple[str, dict[str, Any]]:
        name = self.pick_tool()
        tool, schema = CATALOGUE.tools[name], SCHEMAS[name]
        if isinstance(tool, OperationFamily) and self.values.dice.random() < 0.8:
            action = self.values.dice.choice(list(tool.actions))
            schema = tool.actions[action].argument_model.model_json_schema()
            return name, {"action": action} | self.values.make_arguments(schema)
        if self.values.dice.random() < 0.15:
            example = dict(list_operations(tool)[0].example)
            return name, self.values.make_arguments(schema) | example
        return name, self.values.make_arguments(schema)

    def make_rest_call(self) -> FuzzRequest:
        name, arguments = self.make_call()
        headers = dict(_JSON)
        if self.values.dice.random() < 0.1:
            headers["X-Commonplace-Window"] = self.make_header_text()
            headers["Idempotency-Key"] = self.make_header_text()
            headers["X-Agent-Id"] = self.make_header_text()
        return FuzzRequest("POST", f"/api/{name}", encode_json(arguments), headers)

    def make_header_text(self) -> str:
        text = self.values.make_text()[:300]
        return (
            "".join(letter for letter in text if letter.isprintable())
            .encode("utf-8", "ignore")
            .decode("latin-1")
        )

    def make_params(self, method: str) -> dict[str, Any]:
        values = self.values
        if method == "tools/call":
            name, arguments = self.make_call()
            return {"name": name, "arguments": arguments}
        if method in ("resources/read", "resources/subscribe"):
            return {"uri": self.make_uri()}
        if method == "prompts/get":
            return {
                "name": values.dice.choice(("handoff", values.make_text())),
                "arguments": values.make_json(),
            }
        if method == "completion/complete":
            reference = values.dice.choice(({"type": "ref/prompt", "name": "x"}, {"type": "ref/resource", "uri": self.make_uri()}, values.make_json()))  # fmt: skip
            return {"ref": reference, "argument": {"name": values.dice.choice(("project", values.make_text())), "value": values.make_text()}}  # fmt: skip
        made = values.make_json()
        return made if isinstance(made, dict) else {"cursor": made}

    def make_uri(self) -> str:
        dice = self.values.dice
        scheme = dice.choice([resource.template.partition("://")[0] for resource in CATALOGUE.resources])
        return f"{scheme}://{dice.choice(('shop', 'server', self.values.make_text()))}{dice.choice(('', '/a', '/' + self.values.make_text()))}"  # fmt: skip

    def make_message(self, method: str, params: Any) -> dict[str, Any]:
        values = self.values
        message = {
            "jsonrpc": "2.0",
            "id": values.dice.choice((1, "a", 1, 1)),
            "method": method,
            "params": params,
        }
        if values.dice.random() < 0.1:
            message[values.dice.choice(("id", "method", "params", "jsonrpc", "x"))] = values.make_json()
        return message

    def make_modern_message(self) -> FuzzRequest:
        method = self.values.dice.choice(_METHODS[:9])
        params = self.make_params(method)
        if self.values.dice.random() < 0.95:
            params["_meta"] = dict(_META)
        headers = _JSON | {"MCP-Protocol-Version": _VERSION, "Mcp-Method": method}
        name = params.get("name") or params.get("uri")
        if isinstance(name, str) and name.isascii() and name.isprintable() and name:
            headers["Mcp-Name"] = name
        return FuzzRequest("POST", "/mcp", encode_json(self.make_message(method, params)), headers)

    def make_legacy_message(self) -> FuzzRequest:
        method = self.values.dice.choice(_METHODS)
        return FuzzRequest("POST", "/mcp", encode_json(self.make_message(method, self.make_params(method))))

    def make_damaged_body(self) -> FuzzRequest:
        request = self.values.dice.choice((self.make_rest_call, self.make_legacy_message))()
        return FuzzRequest("POST", request.path, self.values.damage(request.body), request.headers)

    def make_damaged_head(self) -> FuzzRequest:
        dice = self.values.dice
        body = b'{"project": "shop"}'
        path = dice.choice(("/api/memory_list_projects", "/mcp", "/events?project=shop", "/health", "/archives/a/b?from=1", "/openapi.json", "/metrics"))  # fmt: skip
        extra = "".join(f"{name}: {self.make_header_text()}\r\n" for name in dice.sample(("Origin", "Authorization", "Content-Length", "Transfer-Encoding", "Range", "Content-Range", "Last-Event-ID", "Accept", "X-Commonplace-Session", "Mcp-Session-Id", "Expect", "Content-Encoding"), 2))  # fmt: skip
        head = f"{dice.choice(('GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS'))} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nConnection: close\r\nContent-Type: application/json\r\n{extra}Content-Length: {len(body)}\r\n\r\n"  # fmt: skip
        raw = head.encode("latin-1", "replace")
        return FuzzRequest(
            "", "", (self.values.damage(raw) if dice.random() < 0.7 else raw) + body, {}, raw=True
        )

    def make_transcript(self) -> FuzzRequest:
        values, dice = self.values, self.values.dice
        lines = b"".join(encode_json(dice.choice(_TRANSCRIPT) | ({values.make_text(): values.make_json()} if dice.random() < 0.3 else {})) + b"\n" for _ in range(dice.randint(1, 8)))  # fmt: skip
        body = values.damage(lines) if dice.random() < 0.7 else lines
        headers = {
            "X-Write-Token": values.known["write_token"][0],
            "X-Tool": dice.choice(("claude", "codex", "gemini", "x")),
        }
        if dice.random() < 0.3:
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body)
            body = values.damage(body) if dice.random() < 0.5 else body
        if dice.random() < 0.3:
            headers["Content-Range"] = dice.choice(
                (f"bytes 0-{len(body) - 1}/*", "bytes 5-2/*", "bytes 10-20/20", "x")
            )
        session = dice.choice((f"s{dice.randint(0, 30)}", "a b", "x" * 300))
        return FuzzRequest(
            "PUT", f"/archives/{values.known['workspace_id'][0]}/{session.replace(' ', '%20')}", body, headers
        )

    def make_regex_search(self) -> FuzzRequest:
        values, dice = self.values, self.values.dice
        pattern = dice.choice(_REGEXES) + dice.choice(("", values.make_text()[:100]))
        tool = dice.choice(("search_knowledge", "search_sessions", "search_context", "memory_query"))
        arguments: dict[str, Any] = {"query": pattern, "mode": "regex"}
        if tool in ("search_context", "memory_query"):
            arguments = {"query": pattern} | ({"session_id": values.known["session_id"][0]} if tool == "memory_query" else {"session_id": values.dice.choice(values.known["id"])})  # fmt: skip
        return FuzzRequest("POST", f"/api/{tool}", encode_json(arguments))

    def make_lock_call(self) -> FuzzRequest:
        values, dice = self.values, self.values.dice
        files = [dice.choice(_GLOBS) + dice.choice(("", "/", dice.choice(_GLOBS), dice.choice(HOSTILE_TEXTS)[:80])) for _ in range(dice.randint(1, 12))]  # fmt: skip
        tool = dice.choice(
            ("memory_lock_files", "memory_lock_files", "memory_unlock_files", "memory_get_locks")
        )
        arguments = {"session_id": values.known["session_id"][0], "files": files}
        return FuzzRequest("POST", f"/api/{tool}", encode_json(arguments))

    def make_resource_read(self) -> FuzzRequest:
        params = {"uri": self.make_uri()}
        return FuzzRequest("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params}).encode())  # fmt: skip
