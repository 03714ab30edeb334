"""The process of an agent program, on Linux: which one it is, and whether it is gone.

Codex and Gemini CLI send no end when their terminal is closed, and no program does when it is killed. The session of a
program that is gone is ended at the next start in the same place (`actions.py`). A process that lives proves nothing.
"""

import os
from pathlib import Path

from commonplace import window
from commonplace.client.agents import AGENTS_WITH_HOOKS, load_hooks

_MAX_COMMAND_WORDS = 4
_STATE_FIELD, _START_FIELD = 0, 19
_ZOMBIE = "Z"


def find_agent_pid(tool: str) -> int:
    """The process that runs hooks and a stdio server as its children."""
    pid = os.environ.get(load_hooks(tool).process_variable, "")
    return int(pid) if pid.isdecimal() else os.getppid()


def identify_agent_process(tool: str) -> str:
    """The machine, process namespace, id and start time; empty if the process is not certainly the agent program."""
    if tool not in AGENTS_WITH_HOOKS:  # a person who commits
        return ""
    pid = find_agent_pid(tool)
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
        is_agent = any(tool in Path(word).name for word in words[:_MAX_COMMAND_WORDS])
        if not is_agent or any(" hook " in f"{word} " for word in words):  # a shell that runs the hook
            return ""
        return f"{_namespace()} {pid} {_read_stat(pid)[_START_FIELD]}"
    except (OSError, IndexError):
        return ""


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
