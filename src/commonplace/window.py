"""How a request names the window that it comes from: headers, `_meta` keys and window ids, the same for both sides.

A window is one conversation of one agent program. Hooks, the proxy and the edges import these names, so this module
imports nothing of the server. Which session a window belongs to is decided in `acting.py`.
"""

import os
import re
import socket
from functools import cache
from typing import Final, Literal

WINDOW_HEADER: Final = "X-Commonplace-Window"
"""Window ids, the most specific first, separated by commas."""
SESSION_HEADER: Final = "X-Commonplace-Session"
"""A session_id from memory_start_session."""
SEAT_HEADER: Final = "X-Commonplace-Seat"
"""`tool@machine`, such as `claude@laptop`: with the working directory it names the place of one person's agent."""
BRANCH_HEADER: Final = "X-Commonplace-Branch"
"""The git branch that is checked out."""

WINDOW_META: Final = "commonplace/window"
"""The same as the header: a text, or a list of texts."""
SESSION_META: Final = "commonplace/session"
SEAT_META: Final = "commonplace/seat"
BRANCH_META: Final = "commonplace/branch"

WindowKind = Literal["call", "conversation", "connection"]

_CALL_PREFIX: Final = "claude-call:"
_CONNECTION_PREFIXES: Final = ("pid:", "mcp:", "stdio:")
_TOOL_WORDS: Final = re.compile(r"[^a-z0-9]+")
# Programs whose name at `initialize` does not begin with the name that people use for them.
_TOOL_NAMES: Final = {"visual": "vscode", "github": "copilot"}


def conversation_window(tool: str, conversation_id: str, subagent_id: str = "") -> str:
    """The id of a conversation, such as `claude:6f1c…`; a sub-agent without a conversation of its own adds its id."""
    return f"{tool}:{conversation_id}/{subagent_id}" if subagent_id else f"{tool}:{conversation_id}"


def claude_call_window(tool_use_id: str) -> str:
    """The id of one tool call of Claude Code. Its hook binds it before the call arrives."""
    return f"{_CALL_PREFIX}{tool_use_id}"


def process_window(pid: int) -> str:
    """The id of an agent program that runs as a process of this machine."""
    return f"pid:{machine_name()}:{pid}"


@cache
def machine_name() -> str:
    """The name of this machine in window ids and seats; COMMONPLACE_MACHINE overrides it."""
    name = os.environ.get("COMMONPLACE_MACHINE") or socket.gethostname()
    return name.partition(".")[0].lower() or "localhost"


def tool_of_client(client: str) -> str:
    """The name of the agent program, from the name of its MCP client: `claude` from `claude-code`."""
    words = [word for word in _TOOL_WORDS.split(client.lower()) if word]
    return _TOOL_NAMES.get(words[0], words[0]) if words else ""


def kind_of_window(window: str) -> WindowKind:
    """A call is part of a conversation; a connection may carry several conversations, one after the other or at once."""
    if window.startswith(_CALL_PREFIX):
        return "call"
    return "connection" if window.startswith(_CONNECTION_PREFIXES) else "conversation"
