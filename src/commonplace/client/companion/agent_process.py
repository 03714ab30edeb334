"""The process of an agent program, on Linux: which one it is, and whether it is gone.

Codex and Gemini CLI send no end when their terminal is closed, and no program does when it is killed. The session of a
program that is gone is ended at the next start in the same place (`actions.py`). A process that lives proves nothing.

The headers say which window and seat a hook runs in, so that hook and model act in one session: the server ties them in
`acting.py`, and the names of headers and windows are in `window.py`.
"""

import os
from pathlib import Path

from commonplace import window
from commonplace.client import project
from commonplace.client.agents import AGENTS_WITH_HOOKS, load_hooks
from commonplace.client.companion.caller import find_parent_pid

_MAX_COMMAND_WORDS = 4
_STATE_FIELD, _PARENT_FIELD, _START_FIELD = 0, 1, 19
_MAX_ANCESTORS = 8
_ZOMBIE = "Z"


def find_agent_pid(tool: str) -> int:
    """The process that runs hooks and a stdio server as its children."""
    pid = os.environ.get(load_hooks(tool).process_variable, "")
    return int(pid) if pid.isdecimal() else find_parent_pid()


def list_ancestors() -> list[int]:
    """The ids of the processes above the hook, nearest first, on Linux. The guard finds the agent of a commit by them."""
    ancestors: list[int] = []
    pid = find_parent_pid()
    while pid > 1 and len(ancestors) < _MAX_ANCESTORS:
        ancestors.append(pid)
        try:
            pid = int(_read_stat(pid)[_PARENT_FIELD])
        except OSError:
            break
    return ancestors


def identify_agent_process(tool: str) -> str:
    """The machine, process namespace, id and start time; empty if the process is not certainly the agent program."""
    if tool not in AGENTS_WITH_HOOKS:  # a person who commits
        return ""
    pid = find_agent_pid(tool)
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
        is_agent = any(tool in Path(word).name for word in words[:_MAX_COMMAND_WORDS])
        if not is_agent or any(_runs_hook(word) for word in words):  # a shell that runs the hook
            return ""
        return f"{_namespace()} {pid} {_read_stat(pid)[_START_FIELD]}"
    except (OSError, IndexError):
        return ""


def _runs_hook(word: str) -> bool:
    return " hook " in f"{word} " or "hook.py " in f"{word} "


def is_process_gone(process: str) -> bool:
    """Whether the process that `identify_agent_process` named has ended; False if this cannot be known here."""
    namespace, pid, started = (["", "", *process.rsplit(" ", 2)])[-3:]
    try:
        if not namespace or namespace != _namespace():
            return False
        fields = _read_stat(int(pid))
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return fields[_STATE_FIELD] == _ZOMBIE or fields[_START_FIELD] != started


def _namespace() -> str:
    return f"{window.machine_name()} {Path('/proc/self/ns/pid').readlink()}"


def _read_stat(pid: int) -> list[str]:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return stat.rpartition(")")[2].split()


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
