"""Headers that say which window and seat a hook runs in, so that hook and model act in one session.

The server ties them in `acting.py`; the names of headers and windows are in `window.py`.
"""

from commonplace import window
from commonplace.client import project
from commonplace.client.agents import AGENTS_WITH_HOOKS
from commonplace.client.companion.agent_process import find_agent_pid


def origin_headers(tool: str, conversation: str, root: str, *, is_subagent: bool = False) -> list[str]:
    """Header lines for the start of a session; none for a person, who has no window."""
    if tool not in AGENTS_WITH_HOOKS:
        return []
    windows = [window.conversation_window(tool, conversation)]
    windows += [] if is_subagent else [window.process_window(find_agent_pid(tool))]
    lines = {
        window.WINDOW_HEADER: ",".join(name.replace(",", "_") for name in windows),
        window.SEAT_HEADER: f"{tool}@{window.machine_name()}",
        window.BRANCH_HEADER: project.find_branch(root),
    }
    return [f"{name}: {window.encode_header_value(value)}" for name, value in lines.items() if value]


def call_headers(call_id: str) -> list[str]:
    """Header lines that bind a call of Claude Code, which arrives on another connection, to the session of this one."""
    name = window.claude_call_window(call_id).replace(",", "_")
    return [f"{window.WINDOW_HEADER}: {window.encode_header_value(name)}"]
