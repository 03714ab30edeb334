"""One event of an agent: its session on the server, and calls within the time that the agent waits."""

import os
import re
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from commonplace.client import project, project_trust
from commonplace.client.checkout.working_tree import WorkingTree, find_working_tree
from commonplace.client.companion import agent_process, boot_context, fault_log, payload
from commonplace.client.companion.hook_event import HookEvent
from commonplace.client.companion.hook_settings import HookSettings
from commonplace.client.companion.hook_state import HookSession, HookState
from commonplace.client.link import remote
from commonplace.client.link.server_link import ServerLink, find_link
from commonplace.client.rules.rule_cache import RuleCache
from commonplace.quoting.hidden_characters import quote_line

AWAY = "away"
"""What a session was told once, while the server did not answer."""

_BACK_TEXTS = (
    "Commonplace: the server answers again.",
    "Commonplace: the server answers again; leases are enforced again.",
)
_STARTING_MARK = "starting"
_POLL_SECONDS = 0.01
_ANSWERED_PATIENCE = 2
_HELD_CALL_SECONDS = 10.0
"""How much longer than asked a server may hold a call."""
_NOT_NAME = re.compile(r"[^0-9A-Za-z]")
_TAG_CHARACTERS = 8


class SessionEnded(Exception):
    """The session has ended, and this run starts no other."""


class HookRun:
    def __init__(
        self,
        tool: str,
        event: HookEvent,
        settings: HookSettings,
        name: str = "",
        spawned_by: str = "",
        *,
        starts_sessions: bool = True,
    ) -> None:
        self.tool, self.event, self.settings = tool, event, settings
        self.state = HookState(event.session)
        self.tree = self._find_tree()
        self.context: list[str] = []
        self.tag = f"{tool}-{_NOT_NAME.sub('', event.session)[-_TAG_CHARACTERS:]}"
        """Tells this window's leases from those of another window of the same name; ids differ at the end."""
        self._name = name or ("" if spawned_by else os.environ.get("COMMONPLACE_AGENT", ""))
        self._spawned_by, self._starts_sessions = spawned_by, starts_sessions
        self._started = time.monotonic()
        self.has_answered = False
        self._confirmed_agent = ""

    def _find_tree(self) -> WorkingTree:
        """The repository where the session started, even if the agent has since moved to another."""
        session = self.state.load_session()
        return find_working_tree(session.root if session and Path(session.root).is_dir() else self.event.cwd)

    @property
    def place(self) -> str:
        """The root of the working tree where the session works now: it may have gone to another one of its repository."""
        place = self.state.load_place()
        return place if place and Path(place).is_dir() else self.tree.root

    def call_server(self, operation: str, *, headers: Sequence[str] = (), **arguments: Any) -> dict[str, Any]:
        """Call an operation; a server that does not answer in time counts as unreachable.

        A server that has answered once gets more time.
        """
        # Without a session the call may be about another project.
        has_rules = "session_id" in arguments or operation == payload.START_TOOL
        lines = [*headers, self.rules.header] if has_rules else headers
        seconds = self._wait_seconds - (time.monotonic() - self._started)
        if self.has_answered:
            seconds += _ANSWERED_PATIENCE * self._wait_seconds
            if seconds <= 0:
                raise remote.unreachable(self.server, TimeoutError("its answers took too long"))
        # A busy machine may have needed longer than that to get here, which is not the server's fault.
        seconds = max(seconds, self._wait_seconds / 2)
        reply = self.link.call_operation(self.server, operation, arguments, lines, seconds)
        self.has_answered = True
        if has_rules:
            self.rules.take_news(reply.pop("_rules", None))
        if self.state.forget_first_time(AWAY):
            self.context.append(_BACK_TEXTS[self.settings.lock != "off"])
        if notices := boot_context.quote_notices([str(notice) for notice in reply.pop("_notice", ())]):
            self.context.append(notices)
        return reply

    @cached_property
    def rules(self) -> RuleCache:
        """The rules of the session's project; before it starts, of the folder's."""
        session = self.state.load_session()
        name = session.project if session else project.project_of_folder(self.tree.root)
        return RuleCache(str(self.state.folder), name)

    @cached_property
    def server(self) -> remote.RemoteServer:
        """The server that this session belongs to; raises ServerUnreachable if none is known."""
        server = remote.find_server(folder=self.tree.root)
        if server is None:
            raise remote.ServerUnreachable("No server runs on this machine, and none is configured.")
        return server

    @cached_property
    def link(self) -> ServerLink:
        return find_link(self.server.url)

    @cached_property
    def _wait_seconds(self) -> float:
        """The longest wait for a first answer."""
        is_start = self.event.kind == "session_start"
        return self.settings.seconds or self.link.wait_seconds(is_start=is_start)

    def call_in_session(
        self, operation: str, *, headers: Sequence[str] = (), **arguments: Any
    ) -> dict[str, Any]:
        """Call an operation in our session; a session that has ended is replaced by a new one."""
        session = self.ensure_session()
        try:
            return self.call_server(operation, headers=headers, session_id=session.session_id, **arguments)
        except remote.ServerRefusal as refused:
            if refused.code != "session_not_found":
                raise
        session_id = self.start_session(session).session_id
        return self.call_server(operation, headers=headers, session_id=session_id, **arguments)

    def call_waiting(self, operation: str, wait_seconds: int, **arguments: Any) -> dict[str, Any]:
        """Call an operation that the server may hold open.

        Notices that come with the reply are kept for the next event that can show them.
        """
        values = {"session_id": self.ensure_session().session_id, "wait_seconds": wait_seconds, **arguments}
        seconds = wait_seconds + _HELD_CALL_SECONDS
        reply = self.link.call_operation(self.server, operation, values, (), seconds)
        if notices := boot_context.quote_notices([str(notice) for notice in reply.pop("_notice", ())]):
            self.state.put_notices([notices])
        return reply

    def ensure_session(self) -> HookSession:
        return self.state.load_session() or self.start_session()

    def start_session(self, dead: HookSession | None = None) -> HookSession:
        """Start a session. Of several events at once, one starts it and the others use it.

        A process in the background starts none: it may come after the agent's end, and nobody would end what it started.
        """
        if not self._starts_sessions:
            raise SessionEnded
        if not self.state.claim_mark(_STARTING_MARK, self._wait_seconds):
            until = self._started + self._wait_seconds
            while time.monotonic() < until and self.state.has_mark(_STARTING_MARK):
                time.sleep(_POLL_SECONDS)
            return self._live_session(dead) or self._begin_session()
        try:
            return self._live_session(dead) or self._begin_session()
        finally:
            self.state.clear_mark(_STARTING_MARK)

    def _live_session(self, dead: HookSession | None) -> HookSession | None:
        session = self.state.load_session()
        return session if session != dead else None

    def _begin_session(self) -> HookSession:
        """Start a session on the server, save it, and add the boot context."""
        from commonplace.client.companion import ends  # which ends sessions with runs

        ends.cancel_ends(self.event.session)
        reply = self._call_start_session()
        session = HookSession(
            reply["session_id"],
            reply["project"],
            reply["agent"],
            self.tree.root,
            self.tool,
            boot_context.encode_pack(reply),
            tuple(agent_process.list_ancestors()),
            agent_process.identify_agent_process(self.tool),
        )
        self.state.save_session(session)
        self.context.append(boot_context.render_boot_context(session, self.settings.lock))
        untrusted = project.find_untrusted_project(self.tree.root)
        if untrusted and not os.environ.get("COMMONPLACE_PROJECT"):
            named = quote_line(untrusted.value)
            self.context.append(project_trust.explain_untrusted_project(named, untrusted.path))
        self._report_checkout()
        return session

    def _report_checkout(self) -> None:
        """Tell the server where the session works, so that others in the same checkout are known to each other."""
        if not self.tree.main or self.tool == "git":
            return
        from commonplace.client.checkout.tree_report import report_checkout  # only starts need it

        try:
            report_checkout(self)
        except remote.ServerRefusal as refused:  # an older server, or a key that may only read
            fault_log.log_fault("report of the checkout", refused)

    def _call_start_session(self) -> dict[str, Any]:
        """Without a name the server uses that of the key or the seat, also where it refuses the one that is set."""
        arguments: dict[str, Any] = {
            "project": project.project_of_folder(self.tree.root),
            "working_directory": self.tree.root,
            "token_budget": boot_context.PACK_TOKENS,
        }
        if self._spawned_by:
            arguments["spawned_by"] = self._spawned_by
        headers = agent_process.origin_headers(
            self.tool, self.event.session, self.tree.root, is_subagent=bool(self._spawned_by)
        )
        if self._name:
            try:
                return self.call_server(
                    payload.START_TOOL, headers=headers, claude_instance=self._name, **arguments
                )
            except remote.ServerRefusal as refused:
                if refused.code != "forbidden":
                    raise
        return self.call_server(payload.START_TOOL, headers=headers, **arguments)

    def confirm_agent(self) -> str:
        """The agent's name now: the model may have chosen another one in this window since the session started."""
        if not self._confirmed_agent:
            self._confirmed_agent = str(self.call_in_session("memory_heartbeat")["agent"])
            session = self.ensure_session()
            if session.agent != self._confirmed_agent:
                self.state.save_session(session._replace(agent=self._confirmed_agent))
        return self._confirmed_agent
