"""The one path of a call: role, secrets, arguments, project, transaction, operation, audit, events, commit, publish.

Every surface runs operations through `Calls`; an operation sees its `Call`. What an operation is: `operation.py`.
Who may do what: `access.py`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from commonplace import access, errors, events, idempotency, suggestions
from commonplace.access import Caller
from commonplace.activity import ActivityRecorder
from commonplace.admission import CallAdmission
from commonplace.answer import Answer
from commonplace.arguments import SecretMask
from commonplace.call_request import CallRequest, MustWrite
from commonplace.clock import Clock, WatchedClock
from commonplace.config import Settings
from commonplace.identity import acting
from commonplace.identity.names import NameOwner, load_name_owners
from commonplace.identity.session import ONLY_SESSION, AgentSession, SessionQuery
from commonplace.notices import take_notices
from commonplace.operation import SESSION_ARGUMENTS, Operation, OperationFamily
from commonplace.retention import RetentionProgress
from commonplace.search.engine import SearchEngine
from commonplace.search.index import IndexEntry
from commonplace.search.source import reader_name
from commonplace.store.database import Database, Row, Statement, T, Tx, Work
from commonplace.waiting import WaitForEvents

if TYPE_CHECKING:
    from commonplace.room import Catalogue

_log = logging.getLogger(__name__)
_LOOK_AGAIN_SECONDS = 1.0
_FOUND_BY = "memory_find_operation finds names."


class Call(msgspec.Struct):
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
    session_row: Row = {}
    """The row of the session, with the columns that the operation asked for."""
    session_rows: Sequence[Sequence[Row]] = ()
    """The rows of what `prepare` asked to be read together with the session."""
    probed: Sequence[Sequence[Row]] = ()
    """The rows of the probes of the session's activity, if it is to be marked as alive (`activity.py`)."""
    store_now: int = 0
    """The store's own time when these rows were read."""
    project: str = access.SHARED
    named_project: str | None = None
    is_retry: bool = False
    """Did another transaction get in the way of this call before? Then it locks what it checks."""
    touched: bool = False
    subject: str = ""
    emitted: list[events.Event] = []
    deferred_writes: list[Work[None]] = []
    """What a read leaves to be written after it; the reply does not depend on it."""
    name_owners: dict[str, NameOwner] = {}
    mask: SecretMask = msgspec.field(default_factory=SecretMask)
    changed_items: dict[tuple[str, str], dict[str, IndexEntry | None]] = {}
    """The ids that the search index must follow, by project and kind, with their entries where known; see `reindex`."""
    new_entries: list[IndexEntry] = []
    """Entries of the search index whose items this call has just made; see `index_new`."""
    suggestions: dict[str, None] = {}
    """Names that were probably meant instead of unknown ones; see `suggestions.py`."""

    @property
    def agent(self) -> str:
        """Who acts: the session's agent, else the key's; `anonymous` if nobody is known."""
        return self.session.agent if self.session else self.caller.agent or access.ANONYMOUS

    @property
    def is_anonymous(self) -> bool:
        return self.session is None and self.caller.agent is None

    @property
    def is_by_person(self) -> bool:
        """Does a person make the call? What comes from a session is its agent's, whatever the key."""
        return self.caller.is_person and self.session is None and not self.caller.session

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

    def reindex_as(self, entry: IndexEntry) -> None:
        """The same for an item that is known as it is now: it is not read again, unless it changes once more."""
        self.changed_items.setdefault((entry.project, entry.kind), {})[entry.id] = entry

    def index_new(self, entry: IndexEntry) -> None:
        """Add an item to the search index that did not exist before; unlike `reindex`, it is not read again."""
        self.new_entries.append(entry)


class Calls:
    """Runs every operation for every surface."""

    def __init__(self, database: Database, catalogue: "Catalogue", settings: Settings, clock: Clock) -> None:
        self.database, self.catalogue, self.settings = database, catalogue, settings
        self.clock = WatchedClock(clock)
        self.admission = CallAdmission(settings.max_calls)
        self.activity = ActivityRecorder(database, clock, catalogue.on_activity)
        self.search = SearchEngine(database, settings, clock, catalogue.search_sources)
        self.bus, self.retention = events.EventBus(database, clock), RetentionProgress()
        self.observe: Callable[[str, str, float], None] = lambda _name, _outcome, _seconds: None

    def find_operation(self, name: str, given: Mapping[str, Any]) -> tuple[Operation, Mapping[str, Any]]:
        tool = self.catalogue.tools.get(name)
        if tool is None:
            raise suggestions.unknown_operation(name, self.catalogue.tools)
        return tool.pick_operation(given) if isinstance(tool, OperationFamily) else (tool, given)

    def _unwrap_call(self, name: str, given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """The call itself, or the one that it asks for, of a tool that models are shown."""
        tool = self.catalogue.tools.get(name)
        while isinstance(tool, Operation) and tool.runs_another:
            outer = tool.parse_arguments(given, SecretMask())
            sessions = {key: given[key] for key in SESSION_ARGUMENTS if key in given}
            own = {} if SESSION_ARGUMENTS & outer["arguments"].keys() else sessions
            name, given = outer["name"], own | outer["arguments"]
            tool = self.catalogue.tools.get(name)
            if name not in self.catalogue.model_tools:
                raise suggestions.unknown_operation(name, self.catalogue.model_tools, _FOUND_BY)
        return name, given

    async def run(self, name: str, given: Mapping[str, Any], caller: Caller) -> Answer:
        """Run the tool of this name."""
        return await self._run_audited(name, given, caller)

    async def run_operation(
        self, operation: Operation, arguments: Mapping[str, Any], caller: Caller
    ) -> Answer:
        """Run an operation that is not a tool, such as one behind a resource or a byte stream; the path is the same."""
        caller = replace(caller, idempotency_key="")  # an uploaded part is safe to repeat: it names its place
        return await self._run_audited(operation.name, arguments, caller, operation)

    async def _run_audited(
        self, name: str, given: Mapping[str, Any], caller: Caller, operation: Operation | None = None
    ) -> Answer:
        """Run an operation, by its name unless it is given."""
        started, outcome = perf_counter(), "failed"
        mask, rest = SecretMask(self.settings.secrets), given
        try:
            if operation is None:
                name, given = self._unwrap_call(name, given)
                operation, rest = self.find_operation(name, given)
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
            shown = name if name in self.catalogue.tools else "unknown"
            self.observe(shown, outcome, perf_counter() - started)
        return structs.replace(answer, notices=[*answer.notices, *mask.notices]) if mask.kinds else answer

    async def _run_until_answered(self, request: CallRequest) -> Answer:
        operation = request.operation
        if operation.prepare:
            prepared = await operation.prepare(self, request.arguments, request.caller)
            request = structs.replace(request, prepared=prepared)
        try:
            answer = await self._run_transaction(request)
        except WaitForEvents as later:
            answer = await self._wait_for_events(operation, later, partial(self._run_transaction, request))
        except errors.SessionNotFound:  # the call that had this key may have ended its session
            if not request.key or not (stored := await self.database.read(request.key.find_answer)):
                raise
            return Answer(stored.reply, stored.notices)
        if operation.after_commit:
            return structs.replace(answer, reply=await operation.after_commit(answer.reply))
        return answer

    async def _wait_for_events(
        self, operation: Operation, later: WaitForEvents, again: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Listen first, then run again, so that no event is missed. Leases lapse without an event, so run every second."""
        if later.write_at_start:
            await self._write_after(operation.name, later.write_at_start)
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
                if later.write_between:
                    await self._write_after(operation.name, later.write_between)
                if later.is_over or self.admission.is_stopping:
                    break
                if later.session and self.activity.is_touch_due(later.session.id, self.clock()):
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
        return (
            await self._write_after(operation.name, lambda tx: take_notices(tx, session, self.clock())) or []
        )

    async def _run_transaction(self, request: CallRequest) -> Answer:
        if request.reads_first:
            with suppress(MustWrite):
                return await self._run_transaction(request.as_read())
        operation, request.attempts = request.operation, 0
        work = partial(self._run_in_transaction, request)
        if operation.is_recorded:
            call, reply, notices = await self.database.write(work)
            await self.search.note_write()
        else:
            call, reply, notices = await self.database.read(work)
        if call.emitted:
            self.bus.publish_committed({event.project for event in call.emitted})
        for write in call.deferred_writes:
            await self._write_after(operation.name, write)
        if call.session is None or operation.session is False:
            return Answer(reply, [], call.project, call.suggestions, call.name_owners)
        if call.touched:
            self.activity.mark_touched(call.session, call.now)
        elif not operation.is_recorded and self.activity.is_touch_due(call.session.id, call.now):
            self.activity.touch_later(call.session)
        if not operation.is_recorded and call.session.has_notice:
            notices = await self._take_notices(operation, call.session)
        return Answer(reply, notices, call.project, call.suggestions, call.name_owners)

    async def _write_after(self, name: str, write: Work[T]) -> T | None:
        """Write what a call leaves behind. The reply is true without it, so a store that takes no writes is logged."""
        try:
            return await self.database.write(write)
        except errors.Unavailable as refusal:
            _log.warning("not recorded", extra={"operation": name[:64], "reason": refusal.message})
            return None

    async def _run_in_transaction(self, request: CallRequest, tx: Tx) -> tuple[Call, Any, list[str]]:
        request.attempts += 1
        operation, arguments = request.operation, dict(request.arguments)
        session_id = arguments.pop(operation.session_argument) if operation.session_argument else None
        project = arguments["project"] if operation.takes_project else None
        also = getattr(request.prepared, "session_reads", ())
        call = await self.bind_call(tx, request.caller, session_id, project, operation, also)
        call.mask, call.prepared, call.is_retry = request.mask, request.prepared, request.attempts > 1
        if operation.session is True and call.session is None:
            await _require_scope(call, operation, project)
        elif operation.session is False and call.named_project is None:
            call.project = access.SHARED
        if call.named_project is not None:
            arguments["project"] = call.named_project
        if request.key and (stored := await request.key.claim(tx, claimed_in := call.project, call.now)):
            call.suggestions = dict.fromkeys(stored.suggestions)
            return call, stored.reply, stored.notices
        if suggestions.may_name_others(arguments):
            await suggestions.suggest_names(call, arguments)
        reply = await operation.function(call, **arguments)
        if self.settings.auth_on and not call.caller.operator:
            call.name_owners = await load_name_owners(tx, call.project, call.now)
            call.name_owners.pop(call.agent, None)
        notices = await self._record_call(call, operation) if operation.is_recorded else []
        if request.key:
            await request.key.store_answer(tx, claimed_in, reply, notices, call.suggestions)
        if call.emitted:
            await events.append_events(tx, call.emitted)
        return call, reply, notices

    async def bind_call(
        self,
        tx: Tx,
        caller: Caller,
        session_id: str | None,
        project: object,
        operation: Operation | None = None,
        also: Sequence[Statement] = (),
    ) -> Call:
        """A call with the session that acts and the project that its arguments name, if the caller may use both.

        What the operation asks about the session, the probes of its activity and `also` are read together with it.
        """
        writes = operation is None or operation.writes
        call = Call(tx, caller, self.clock(), self.catalogue, self.settings, writes, self.search)
        query = operation.session_query if operation else ONLY_SESSION
        if also or (operation and operation.is_recorded):

            def list_reads(of_project: str, session: str) -> Sequence[Statement]:
                is_due = self.activity.is_touch_due(session, call.now)
                return [*also, *(self.activity.list_probes(of_project, session) if is_due else ())]

            query = SessionQuery(query.columns, list_reads)
        loaded = await acting.find_acting_session(tx, caller, session_id, query)
        if loaded is not None:
            call.session, call.session_row, call.store_now = loaded.session, loaded.row, loaded.store_now
            call.project = loaded.session.project
            if loaded.rows:
                call.session_rows, call.probed = loaded.rows[: len(also)], loaded.rows[len(also) :]
        if isinstance(project, str):
            call.named_project = call.project = call.resolve_project(project)
        tx.claim_project(call.project)
        return call

    async def _record_call(self, call: Call, operation: Operation) -> list[str]:
        """Write the audit row and the activity in the transaction of the operation; return its notices."""
        session = call.session if operation.session else None
        has_news = session is not None and session.has_notice
        if session and self.activity.is_touch_due(session.id, call.now):
            call.touched = True
            touch = self.activity.touch_session(call.tx, session, call.now, call.probed, call.store_now)
            has_news |= await touch
        await self.search.refresh_items(call.tx, call.changed_items, call.new_entries)
        has_news = has_news and not operation.leaves_notices
        notices = await take_notices(call.tx, session, call.now) if session and has_news else []
        row = (operation.name, "ok", call.agent, call.caller, call.subject)
        await self._insert_audit_row(call.tx, call.project, call.now, *row)
        return notices

    async def _insert_audit_row(self, tx: Tx, project: str, now: int, *row: Any) -> None:
        await events.insert_audit_row(tx, project, now, *row)
        if self.clock.is_behind(now):
            await events.note_late_row(tx, now)

    async def _record_refusal(
        self, name: str, given: Mapping[str, Any], caller: Caller, refusal: errors.Refusal
    ) -> None:
        named = given.get("project")
        if not isinstance(named, str) or len(named) > access.MAX_SPELLING_CHARACTERS:
            named = ""
        project = named if caller.sees_project(named) else ""
        # Not the refusal itself: a store may hold its last job, and the traceback holds the whole request.
        row = (name, refusal.code, caller.agent or "", caller, refusal.message)
        await self._write_after(name, lambda tx: self._insert_audit_row(tx, project, self.clock(), *row))


async def _require_scope(call: Call, operation: Operation, project: object) -> None:
    """Refuse a call of nobody that leaves a trace, and one without a session from which no project can be told.

    Nobody may read what is not private: an operation that reads private things asks for its agent itself.
    """
    if call.is_anonymous and operation.is_recorded:
        raise await acting.no_live_session(call.tx, call.caller)
    if project is None and (operation.takes_project or operation.is_recorded):
        call.project = await acting.only_project(call.tx, call.caller)
