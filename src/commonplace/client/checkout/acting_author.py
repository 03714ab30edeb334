"""Who changes files or commits: the author of a hook's event, and that of a commit, which git's own hooks see."""

import os
from pathlib import Path

from commonplace.client.checkout.checkout import Checkout
from commonplace.client.checkout.ledger import Author
from commonplace.client.companion.agent_process import list_ancestors
from commonplace.client.companion.hook_event import HookEvent
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.companion.hook_settings import read_hook_settings
from commonplace.client.companion.hook_state import HookState, list_hook_sessions

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
_SHORT_ID = 8


def author_of(hook_run: HookRun) -> Author:
    """The window of an agent, or the sub-agent in it, that an event comes from."""
    event, session = hook_run.event, hook_run.state.load_session()
    name = session.agent if session else f"{hook_run.tool}-{event.session[-_SHORT_ID:]}"
    process = session.process if session else ""
    if not event.subagent:
        return Author(event.session, name, event.parent, process)
    return Author(f"{event.session}/{event.subagent}", f"a sub-agent of {name}", event.session, process)


def find_acting_run(root: str) -> HookRun:
    """A run for the agent whose command this is, if it can be found; else for a person, who holds no leases."""
    settings = read_hook_settings()
    settings = settings._replace(seconds=max(settings.seconds, _MIN_SECONDS))
    name, tool = _find_agent_session(root)
    if tool:
        return HookRun(tool, HookEvent("before_edit", "pre-commit", name, root), settings)
    user = os.environ.get("USER") or os.environ.get("USERNAME") or "somebody"
    person = "git-" + "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in user)
    return HookRun("git", HookEvent("before_edit", "pre-commit", f"git-{root}", root), settings, person)


def find_committing_author(checkout: Checkout, hook_run: HookRun) -> Author | None:
    """The author of the commit that git makes now; None for a person."""
    lines = [_read_command_line(pid) for pid in list_ancestors()]
    if hook_run.tool == "git":
        return checkout.find_running((), lines)
    return checkout.find_running([hook_run.event.session], lines) or author_of(hook_run)


def is_person(hook_run: HookRun) -> bool:
    """Whether a person runs the command: no session of an agent was found, and nothing names an agent program."""
    names = (*_SESSION_VARIABLES, *_AGENT_VARIABLES)
    return hook_run.tool == "git" and not any(os.environ.get(name) for name in names)


def runs_for_agent() -> bool:
    """Whether an agent's shell runs this process: its environment says so, or the agent program is above it."""
    if any(os.environ.get(name) for name in (*_SESSION_VARIABLES, *_AGENT_VARIABLES)):
        return True
    above = {str(pid) for pid in list_ancestors()}
    processes = [session.process.split() for session in list_hook_sessions().values() if session.process]
    return any(words[-2] in above for words in processes if len(words) > 1)


def _read_command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def _find_agent_session(root: str) -> tuple[str, str]:
    """The session and tool of the committing agent: from the environment, else the one session of this working tree
    that shares the most parent processes. Of an agent that runs another one, the inner shares more parents."""
    ancestors = set(list_ancestors())
    named = [os.environ[name] for name in _SESSION_VARIABLES if os.environ.get(name)]
    if named:
        sessions = [(name, session) for name in named if (session := HookState(name).load_session())]
        best = max(sessions, key=lambda pair: len(ancestors.intersection(pair[1].ancestors)), default=None)
        return (best[0], best[1].tool) if best else ("", "")
    shared = {
        name: (len(ancestors.intersection(session.ancestors)), session.tool)
        for name, session in list_hook_sessions().items()
        if session.root == root and session.tool != "git"
    }
    most = max((count for count, _ in shared.values()), default=0)
    nearest = [(name, tool) for name, (count, tool) in shared.items() if count == most > 0]
    return nearest[0] if len(nearest) == 1 else ("", "")
