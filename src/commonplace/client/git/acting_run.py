"""Which session runs a git command: that of the agent whose shell it is, else that of a person at a terminal."""

import os
import re
from pathlib import Path

from commonplace.client.companion.agent_process import list_ancestors
from commonplace.client.companion.hook_event import HookEvent
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.companion.hook_settings import read_hook_settings
from commonplace.client.companion.hook_state import HookState, list_hook_sessions
from commonplace.client.git import git_program as git
from commonplace.client.hooks.working_tree import find_working_tree

# What agent programs, or our plugins for them, put into the environment of commands; a sub-agent before its parent.
_SESSION_VARIABLES = (
    "COMMONPLACE_AGENT_SESSION",
    "COMMONPLACE_PARENT_SESSION",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CLAUDE_CODE_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
    "GEMINI_SESSION_ID",
)
# What agent programs set in the environment of commands, without saying which session it is.
_AGENT_VARIABLES = ("CLAUDECODE", "GEMINI_CLI", "OPENCODE", "OPENCODE_PID", "COPILOT_CLI", "CURSOR_AGENT")
_MIN_SECONDS = 2.0
_NOT_NAME = re.compile(r"[^\w.-]+")


def find_acting_run() -> HookRun:
    """A run for the agent whose command this is, if it can be found; else for a person, who holds no leases."""
    root = git.worktree_root().resolve()
    hook_settings = read_hook_settings()
    hook_settings = hook_settings._replace(seconds=max(hook_settings.seconds, _MIN_SECONDS))
    name, tool = _find_agent_session(root)
    if tool:
        return HookRun(tool, HookEvent("before_edit", "pre-commit", name, str(root)), hook_settings)
    person = "git-" + _NOT_NAME.sub("_", os.environ.get("USER") or os.environ.get("USERNAME") or "somebody")
    return HookRun(
        "git", HookEvent("before_edit", "pre-commit", f"git-{root}", str(root)), hook_settings, person
    )


def runs_for_agent() -> bool:
    """Whether an agent's shell runs this process: its environment says so, or the agent program is above it."""
    if any(os.environ.get(name) for name in (*_SESSION_VARIABLES, *_AGENT_VARIABLES)):
        return True
    above = {str(pid) for pid in list_ancestors()}
    processes = [session.process.split() for session in list_hook_sessions().values() if session.process]
    return any(words[-2] in above for words in processes if len(words) > 1)


def is_person(hook_run: HookRun) -> bool:
    """Whether a person runs the command: no session of an agent was found, and nothing names an agent program."""
    names = (*_SESSION_VARIABLES, *_AGENT_VARIABLES)
    return hook_run.tool == "git" and not any(os.environ.get(name) for name in names)


def _find_agent_session(root: Path) -> tuple[str, str]:
    """The session and tool of the committing agent: from the environment, else the one session of this working tree
    that shares the most parent processes."""
    ancestors = set(list_ancestors())
    named_sessions = [os.environ[name] for name in _SESSION_VARIABLES if os.environ.get(name)]
    if named_sessions:
        return _choose_named_session(named_sessions, root, ancestors)
    shared_ancestors = {
        name: (len(ancestors.intersection(session.ancestors)), session.tool)
        for name, session in list_hook_sessions().items()
        if session.root == str(root) and session.tool != "git"
    }
    most = max((count for count, _ in shared_ancestors.values()), default=0)
    best = [(name, tool) for name, (count, tool) in shared_ancestors.items() if count == most > 0]
    return best[0] if len(best) == 1 else ("", "")


def _choose_named_session(names: list[str], root: Path, ancestors: set[int]) -> tuple[str, str]:
    """The first of these sessions in this repository; of an agent that runs another one, the inner shares more parents."""
    main_tree = find_working_tree(str(root)).main
    sessions = [(name, session) for name in names if (session := HookState(name).load_session())]
    at_home = [named for named in sessions if find_working_tree(named[1].root).main == main_tree]
    if not at_home:
        return "", ""
    name, session = max(at_home, key=lambda named: len(ancestors.intersection(named[1].ancestors)))
    return name, session.tool
