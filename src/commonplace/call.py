"""The one path of a call: role, secrets, arguments, project, transaction, operation, audit, events, commit, publish.

Every surface runs operations through `Calls`; an operation sees its `Call`. What an operation is: `operation.py`.
Who may do what: `access.py`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from commonplace import access, acting, activity, errors, events, idempotency, suggestions
from commonplace.access import Caller
from commonplace.activity import ActivityRecorder, AgentSession
from commonplace.admission import CallAdmission
from commonplace.arguments import SecretMask
from commonplace.authors import find_shown_authors
from commonplace.clock import Clock
from commonplace.config import Settings
from commonplace.operation import Operation, OperationFamily
from commonplace.quoting.marks import mark_notice, mark_reply
from commonplace.search.engine import SearchEngine
from commonplace.search.source import reader_name
from commonplace.store.database import Database, T, Tx, Work

if TYPE_CHECKING:
    from commonplace.room import Catalogue

_log = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS = 1.0


class WaitForEvents(Exception):  # noqa: N818 - not a fault
    """Nothing to answer yet: roll back, wait for an event of the project, run again; `answer` is the reply at the end."""

    def __init__(
        self,
        call: "Call",
        answer: Any,
        seconds: float,
        write_at_end: Work[None] | None = None,
        *,
        ends_with_notice: bool = False,
    ) -> None:
        super().__init__()
        self.project, self.session = call.project, call.session
        self.answer, self.seconds, self.write_at_end = answer, seconds, write_at_end
        self.is_over = ends_with_notice and call.session is not None and call.session.has_notice


@dataclass(slots=True)
class Call:
    """What an operation sees of the call that runs it."""

    tx: Tx
    caller: Caller
    now: int
    catalogue: "Catalogue"
    settings: Settings
    writes: bool
    search: Any = None
    prepared: Any = None
    session: AgentSession | None = None
    project: str = access.SHARED
    named_project: str | None = None
    touched: bool = False
    subject: str = ""
    emitted: list[events.Event] = field(default_factory=list)
    deferred_writes: list[Work[None]] = field(default_factory=list)
    """What a call that only reads leaves to be written after it; the reply does not depend on it."""
    key_names: Collection[str] = ()
    mask: SecretMask = field(default_factory=lambda: SecretMask("mask"))
    changed_items: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    """The ids that the search index must follow, by project and kind; see `reindex`."""
    suggestions: dict[str, None] = field(default_factory=dict)
    """Names that were probably meant instead of unknown ones; see `suggestions.py`."""

    @property
    def agent(self) -> str:
        """Who acts: the session's agent, else the key's; `anonymous` if nobody is known."""
        return self.session.agent if self.session else self.caller.agent or access.ANONYMOUS

    @property
    def is_anonymous(self) -> bool:
        return self.session is None and self.caller.agent is None

    @property
    def own_session(self) -> AgentSession:
        """The session of an operation that needs one."""
        if self.session is None:
            raise acting.no_session()
        return self.session

    def name_reader(self, project: str) -> str:
        """The caller's name among the readers of private entries of a project; empty if nobody is known.

        A session acts for the agent of its own project, a key without a session for that of every project it names.
        """
        own_project = self.session.project if self.session else project
        return "" if self.is_anonymous else reader_name(own_project, self.agent)

    def require_agent(self) -> str:
        """Who acts, where something private is written or read."""
        if self.is_anonymous:
            raise acting.no_identity()
        return self.agent

    def resolve_project(self, project: str | None) -> str:
        """The normalized name of a project that the caller may use; None means the call's own project."""
        if project is None:
            return self.project
        name = access.normalize_project_name(project)
        access.require_project(self.caller, name, writes=self.writes)
        return name

    def list_read_projects(self, *, include_shared: bool) -> list[str]:
        """This call's project, and the shared one."""
        shared = [access.SHARED] if include_shared and self.project != access.SHARED else []
        return [self.project, *shared]

    def require_admin(self) -> None:
        access.require_role(self.caller, "admin", "This")

    def emit(
        self,
        event_type: events.EventType,
        address: Mapping[str, str] | None = None,
        *,
        project: str | None = None,
        audience: str = "",
        **body: Any,
    ) -> None:
        """Store an event with this call's changes; it is published after commit.

        `address` fills the placeholders of the event's resource, besides `project`.
        """
        self.emitted.append(
            event_type.create_event(project or self.project, self.now, self.agent, body, address, audience)
        )

    def reindex(self, kind: str, *ids: str, project: str | None = None) -> None:
        """Let the search index follow a change of these items, in this call's transaction."""
        self.changed_items.setdefault((project or self.project, kind), {}).update(dict.fromkeys(ids))


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One call with validated arguments, before its transaction; `prepared` is what its operation prepared."""

    operation: Operation
    arguments: Mapping[str, Any]
    caller: Caller
    mask: SecretMask
    key: idempotency.RequestKey | None = None
    prepared: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    reply: Any
    notices: list[str]
    project: str = access.SHARED
    suggestions: Collection[str] = ()
    key_names: Collection[str] = ()
    """Names of other agents that belong to a key: whoever writes under one of them is verified."""

    def to_text(self) -> bytes:
        body = mark_reply(msgspec.json.encode(self.reply))
        verified = find_shown_authors(body, self.notices, self.key_names) if self.key_names else []
        notices = [mark_notice(notice) for notice in self.notices]
        beside = {"did_you_mean": list(self.suggestions), "_notice": notices, "_verified": verified}
        fields = msgspec.json.encode({name: texts for name, texts in beside.items() if texts})
        if fields == b"{}":
            return body
        comma = b"," if len(body) > len(b"{}") else b""
        return body[:-1] + comma + fields[1:]


class Calls:
    """Runs every operation for every surface."""

    def __init__(self, database: Database, catalogue: "Catalogue", settings: Settings, clock: Clock) -> None:
        self.database, self.catalogue, self.settings, self.clock = database, catalogue, settings, clock
        self.admission = CallAdmission(settings.max_calls)
        self.bus = events.EventBus(database)
        self.activity = ActivityRecorder(database, clock, catalogue.on_activity)
        self.search = SearchEngine(database, settings, clock, catalogue.search_sources)
        self.observe: Callable[[str, str, float], None] = lambda _name, _outcome, _seconds: None

    def find_operation(self, name: str, given: Mapping[str, Any]) -> tuple[Operation, Mapping[str, Any]]:
        tool = self.catalogue.tools.get(name)
        if tool is None:
            raise errors.NotFound(f"Unknown operation '{name}'.", hint="Call tools/list for all names.")
        return tool.pick_operation(given) if isinstance(tool, OperationFamily) else (tool, given)

    async def run(self, name: str, given: Mapping[str, Any], caller: Caller) -> Answer:
        """Run the tool of this name."""
        return await self._run_audited(name, given, caller, lambda: self.find_operation(name, given))

    async def run_operation(
        self, operation: Operation, arguments: Mapping[str, Any], caller: Caller
    ) -> Answer:
        """Run an operation that is not a tool, such as one behind a resource or a byte stream; the path is the same."""
        caller = replace(caller, idempotency_key="")  # an uploaded part is safe to repeat: it names its place
        return await self._run_audited(operation.name, arguments, caller, lambda: (operation, arguments))

    async def _run_audited(
        self,
        name: str,
        given: Mapping[str, Any],
        caller: Caller,
        pick: Callable[[], tuple[Operation, Mapping[str, Any]]],
    ) -> Answer:
        started, outcome = perf_counter(), "failed"
        mask = SecretMask(self.settings.secrets)
        try:
            operation, rest = pick()
            access.require_role(caller, operation.role, operation.name)
            rest, key = idempotency.take_request_key(operation, rest, caller)
            arguments = operation.parse_arguments(rest, mask)
            with self.admission.admit_call():
                answer = await self._run_until_answered(CallRequest(operation, arguments, caller, mask, key))
            outcome = "ok"
        except errors.Refusal as refusal:
            outcome = refusal.code
            _log.info("refused", extra={"operation": name[:64], "code": refusal.code, "key": caller.key})
            if not isinstance(refusal, errors.Unavailable):
                await self._record_refusal(name, given, caller, refusal)
            raise
        finally:
            self.observe(
                name if name in self.catalogue.tools else "unknown", outcome, perf_counter() - started
            )
        return replace(answer, notices=[*answer.notices, *mask.notices]) if mask.kinds else answer

    async def _run_until_answered(self, request: CallRequest) -> Answer:
        operation = request.operation
        if operation.prepare:
            prepared = await operation.prepare(self, request.arguments, request.caller)
            request = replace(request, prepared=prepared)

        def once() -> Awaitable[Answer]:
            return self._run_transaction(request)

        try:
            answer = await once()
        except WaitForEvents as later:
            answer = await self._wait_for_events(operation, later, once)
        except errors.SessionNotFound:  # the call that had this key may have ended its session
            if not request.key or not (stored := await self.database.read(request.key.find_answer)):
                raise
            return Answer(stored.reply, stored.notices)
        return (
            replace(answer, reply=await operation.after_commit(answer.reply))
            if operation.after_commit
            else answer
        )

    async def _wait_for_events(
        self, operation: Operation, later: WaitForEvents, again: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Listen first, then run again, so that no event is missed. Leases lapse without an event, so run every second."""
        heard, loop = asyncio.Event(), asyncio.get_running_loop()
        ends = loop.time() + later.seconds
        stop = await self.bus.listen_to_project(later.project, lambda _: heard.set())
        try:
            while (left := ends - loop.time()) > 0:
                heard.clear()
                try:
                    return await again()
                except WaitForEvents as still:
                    later = still
                if later.is_over or self.admission.is_stopping:
                    break
                if later.session and self.activity.is_touch_due(later.session, self.clock()):
                    self.activity.touch_later(later.session)
                await self.admission.wait_for(heard, min(left, _LOOK_AGAIN_SECONDS))
        finally:
            stop()
        if later.write_at_end:
            await self._write_after(operation.name, later.write_at_end)
        return Answer(later.answer, await self._take_notices(operation, later.session))

    async def _take_notices(self, operation: Operation, session: AgentSession | None) -> list[str]:
        if session is None or not session.has_notice:
            return []
        return await self._write_after(operation.name, lambda tx: activity.take_notices(tx, session)) or []

    async def _run_transaction(self, request: CallRequest) -> Answer:
        operation = request.operation
        work = partial(self._run_in_transaction, request=request)
        if operation.is_recorded:
            call, reply, notices = await self.database.write(work)
        else:
            call, reply, notices = await self.database.read(work, operation.short_read_name)
        if call.emitted:
            self.bus.publish_committed({event.project for event in call.emitted})
        for write in call.deferred_writes:
            await self._write_after(operation.name, write)
        if call.session is None or operation.session is False:
            return Answer(reply, [], call.project, call.suggestions, call.key_names)
        if call.touched:
            self.activity.mark_touched(call.session, call.now)
        elif not operation.is_recorded and self.activity.is_touch_due(call.session, call.now):
            self.activity.touch_later(call.session)
        if not operation.is_recorded:
            notices = await self._take_notices(operation, call.session)
        return Answer(reply, notices, call.project, call.suggestions, call.key_names)

    async def _write_after(self, name: str, write: Work[T]) -> T | None:
        """Write what a call leaves behind. The reply is true without it, so a store that takes no writes is logged."""
        try:
            return await self.database.write(write)
        except errors.Unavailable as refusal:
            _log.warning("not recorded", extra={"operation": name[:64], "reason": refusal.message})
            return None

    async def _run_in_transaction(self, tx: Tx, request: CallRequest) -> tuple[Call, Any, list[str]]:
        operation, arguments = request.operation, dict(request.arguments)
        session_id = arguments.pop(operation.session_argument) if operation.session_argument else None
        project = arguments["project"] if operation.takes_project else None
        call = await self.bind_call(tx, request.caller, session_id, project, writes=operation.writes)
        call.mask, call.prepared = request.mask, request.prepared
        if operation.session is True:
            _require_scope(call, operation, project)
        elif operation.session is False and call.named_project is None:
            call.project = access.SHARED
        if call.named_project is not None:
            arguments["project"] = call.named_project
        if request.key and (stored := await request.key.claim(tx, claimed_in := call.project, call.now)):
            call.suggestions = dict.fromkeys(stored.suggestions)
            return call, stored.reply, stored.notices
        await suggestions.suggest_names(call, arguments)
        reply = await operation.function(call, **arguments)
        if self.settings.auth_on and not call.caller.operator:
            call.key_names = (await acting.list_bound_names(tx, call.project, call.now)).keys() - {call.agent}
        notices = await self._record_call(call, operation) if operation.is_recorded else []
        if request.key:
            await request.key.store_answer(tx, claimed_in, reply, notices, call.suggestions)
        if call.emitted:
            await events.append_events(tx, call.emitted)
        return call, reply, notices

    async def bind_call(
        self, tx: Tx, caller: Caller, session_id: str | None, project: object, *, writes: bool
    ) -> Call:
        """A call with the session that acts and the project that its arguments name, if the caller may use both."""
        call = Call(tx, caller, self.clock(), self.catalogue, self.settings, writes, self.search)
        call.session = await acting.find_acting_session(tx, caller, session_id)
        if call.session is not None:
            call.project = call.session.project
        if isinstance(project, str):
            call.named_project = call.project = call.resolve_project(project)
        tx.claim_project(call.project)
        return call

    async def _record_call(self, call: Call, operation: Operation) -> list[str]:
        """Write the audit row and the activity in the transaction of the operation; return its notices."""
        session = call.session if operation.session else None
        if session and self.activity.is_touch_due(session, call.now):
            await self.activity.touch_session(call.tx, session, call.now)
            call.touched = True
        await self.search.refresh_items(call.tx, call.changed_items)
        has_news = session is not None and (session.has_notice or call.touched)
        notices = await activity.take_notices(call.tx, session) if session and has_news else []
        await events.insert_audit_row(
            call.tx, call.project, call.now, operation.name, "ok", call.agent, call.caller, call.subject
        )
        return notices

    async def _record_refusal(
        self, name: str, given: Mapping[str, Any], caller: Caller, refusal: errors.Refusal
    ) -> None:
        named = given.get("project")
        if not isinstance(named, str) or len(named) > access.MAX_SPELLING_CHARACTERS:
            named = ""
        project = named if caller.sees_project(named) else ""
        # Not the refusal itself: a store may hold its last job, and the traceback holds the whole request.
        row = (name, refusal.code, caller.agent or "", caller, refusal.message)
        await self._write_after(name, lambda tx: events.insert_audit_row(tx, project, self.clock(), *row))


def _require_scope(call: Call, operation: Operation, project: object) -> None:
    """Refuse a call of nobody that leaves a trace, and one without a session from which no project can be told.

    Nobody may read what is not private: an operation that reads private things asks for its agent itself.
    """
    if call.session is not None:
        return
    if call.is_anonymous and operation.is_recorded:
        raise acting.no_session()
    if project is None and (operation.takes_project or operation.is_recorded):
        call.project = acting.only_project(call.caller)
