"""One run of a hook: who the agent is, its session with us, and how the server is asked."""

import os
import re
import time
from pathlib import Path
from typing import Any

from commonplace.client import project, remote
from commonplace.client.hooks import pack
from commonplace.client.hooks.event import Event
from commonplace.client.hooks.settings import Settings
from commonplace.client.hooks.state import Session, State
from commonplace.client.hooks.tree import Tree, tree_of

_UNKNOWN = "unknown"
_STARTING = "starting"
_LOOK_SECONDS = 0.01
_PATIENCE = 2
_TO_LEAVE = 0.02
_NOT_NAME = re.compile(r"[^0-9A-Za-z]")
_TIMED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7", re.IGNORECASE)
_SHORT = 8
_ANCESTORS = 8


class Visit:
    def __init__(self, tool: str, event: Event, settings: Settings, name: str = "") -> None:
        self.tool, self.event, self.settings = tool, event, settings
        self.state = State(event.session)
        self.tree = self._tree()
        self.context: list[str] = []
        self.tag = f"{tool}-{_short(event.session)}"
        self._name = name or os.environ.get("COMMONPLACE_AGENT") or self.tag
        spent = min(_running() + _TO_LEAVE, settings.seconds / 2)
        self._until = time.monotonic() + settings.seconds - spent
        self._answered = False

    def _tree(self) -> Tree:
        """The repository in which the session began: an agent that walks into another one is a guest there."""
        known = self.state.session()
        return tree_of(known.root if known and Path(known.root).is_dir() else self.event.cwd)

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """One call; a server that does not answer in time is away, and nothing more is asked of it.

        The time counts from the start of this process; a server that has answered is given more.
        """
        server = remote.find_server()
        if server is None:
            raise remote.ServerUnreachable("No server runs on this machine, and none is configured.")
        more = _PATIENCE * self.settings.seconds if self._answered else 0.0
        reply = remote.call_operation(server, operation, arguments, self._until + more - time.monotonic())
        self._answered = True
        self.context += [str(notice) for notice in reply.pop("_notice", ())]
        return reply

    def ask_as_session(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """The same as our session; one that has ended is followed by another."""
        session = self.session()
        try:
            return self.ask(operation, session_id=session.session_id, **arguments)
        except remote.ServerRefusal as refused:
            if refused.code != "session_not_found":
                raise
        return self.ask(operation, session_id=self.start(session).session_id, **arguments)

    def session(self) -> Session:
        return self.state.session() or self.start()

    def start(self, dead: Session | None = None) -> Session:
        """Begin a session; of hooks that run at once one does, and the others go on with its session."""
        if not self.state.claim(_STARTING, self.settings.seconds):
            while time.monotonic() < self._until and self.state.marked(_STARTING):
                time.sleep(_LOOK_SECONDS)
            return self._living(dead) or self._begin()
        try:
            return self._living(dead) or self._begin()
        finally:
            self.state.unmark(_STARTING)

    def _living(self, dead: Session | None) -> Session | None:
        session = self.state.session()
        return session if session != dead else None

    def _begin(self) -> Session:
        """What the agent must know of its session goes into its context."""
        reply = self._started(self._name)
        session = Session(
            reply["session_id"],
            reply["project"],
            reply["agent"],
            self.tree.root,
            self.tool,
            pack.written(reply),
            tuple(ancestors()),
        )
        self.state.keep(session)
        self.context.append(pack.told(session, self.settings.lock))
        return session

    def _started(self, name: str) -> dict[str, Any]:
        """A key that speaks for one agent alone gives its own name."""
        given = {
            "project": project.project_of(self.tree.root),
            "working_directory": self.tree.root,
            "token_budget": pack.BUDGET,
        }
        try:
            return self.ask("memory_start_session", claude_instance=name, **given)
        except remote.ServerRefusal as refused:
            if refused.code != "forbidden":
                raise
        return self.ask("memory_start_session", claude_instance=_UNKNOWN, **given)


def _short(session: str) -> str:
    """Enough to tell sessions apart; a UUID that begins with the time differs at its end."""
    plain = _NOT_NAME.sub("", session)
    return plain[-_SHORT:] if _TIMED.match(session) else plain[:_SHORT]


def _running() -> float:
    """For how long this process has been; for how long it has worked, where the system tells no more."""
    try:
        started = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return time.process_time()


def ancestors() -> list[int]:
    """The processes above this one, nearest first, where the system tells: a commit's agent is found among them."""
    found: list[int] = []
    pid = os.getppid()
    while pid > 1 and len(found) < _ANCESTORS:
        found.append(pid)
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            break
        pid = int(stat.rpartition(")")[2].split()[1])
    return found
