"""Who reads and writes a blackboard, and which messages that reader may see.

A session id does not contain its project, so a small reference table (on every Citus node) maps ids to projects.
Each message has one audience: everyone, one agent, one type of agents, or the admins. A reader has a list of
audiences; every query selects only messages of these audiences, and events carry the same audience strings.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import AfterValidator, Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.audience import private_owner, type_of_agent
from commonplace.call import Call
from commonplace.identity import acting
from commonplace.identity import session as agent_session
from commonplace.project import list_all_project_names
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.model import (
    ADMIN_AUDIENCE,
    ALL_VISIBILITIES,
    PUBLIC_AUDIENCE,
    Visibility,
)
from commonplace.store.database import Row
from commonplace.store.ids import MIN_PREFIX_CHARACTERS

_MAX_NAME_CHARACTERS = 200
_ID_PREFIX = "session_"
_ID_DIGITS = 16
_ID_CHARACTERS = len(_ID_PREFIX) + _ID_DIGITS
_MAX_CANDIDATES = 20
_MAX_CACHED_PROJECTS = 50_000

# A session never changes its project, so entries stay valid; a deleted session is then not found in its project.
_project_by_session: dict[str, str] = {}
_AGENT_NAME = re.compile(rf"[\w.@:+-]{{1,{_MAX_NAME_CHARACTERS}}}")


def _require_agent_name(name: str) -> str:
    if not _AGENT_NAME.fullmatch(name):
        raise ValueError("must be an agent name: 1 to 200 letters, digits and . _ @ : + -")
    return name


AgentId = Annotated[
    str, AfterValidator(_require_agent_name), Field(json_schema_extra={"maxLength": _MAX_NAME_CHARACTERS})
]


@dataclass(frozen=True, slots=True)
class BlackboardReader:
    """`owner` identifies the agent where its name does not: a key that is bound to no agent may use any name.

    Without a known agent it is empty, and nothing private can be written or read.
    """

    name: str
    owner: str
    agent_type: str
    is_admin: bool

    @classmethod
    def from_caller(cls, caller: Caller, owner: str) -> "BlackboardReader":
        return cls(caller.agent or access.ANONYMOUS, owner, caller.agent_type, caller.has_role("admin"))

    def audience_for(self, visibility: Visibility) -> str:
        """Return the audience of a message by this reader; an agent without a type is alone in its type."""
        if not self._belongs_to(visibility):
            raise acting.no_identity()
        return {
            "public": PUBLIC_AUDIENCE,
            "private": f"agent:{self.owner}",
            "agent_only": f"type:{type_of_agent(self.agent_type, self.owner)}",
            "admin_only": ADMIN_AUDIENCE,
        }[visibility]

    def list_audiences(self, visibilities: Collection[Visibility] = ALL_VISIBILITIES) -> list[str]:
        """List the audiences of these visibilities that this reader belongs to."""
        return [
            self.audience_for(visibility)
            for visibility in visibilities
            if (self.is_admin if visibility == "admin_only" else self._belongs_to(visibility))
        ]

    def _belongs_to(self, visibility: Visibility) -> bool:
        if visibility == "private":
            return bool(self.owner)
        return visibility != "agent_only" or bool(self.owner or self.agent_type)


def select_visibilities(
    visibility_filter: Visibility | None, *, include_private: bool
) -> tuple[Visibility, ...]:
    if visibility_filter is not None:
        return (visibility_filter,)
    return ALL_VISIBILITIES if include_private else ("public", "agent_only", "admin_only")


async def identify_reader(
    call: Call, agent_id: str | None = None, sender: str | None = None, *, needs_agent: bool = False
) -> BlackboardReader:
    """Return the calling agent: of its session, of the key, or (auth off) as named; refuse another's name."""
    caller = call.caller
    for named in (agent_id, sender):
        if named and agent_session.is_session_id(named):
            call.session = await agent_session.load_session(call.tx, named, caller)
            agent_id, sender = None if agent_id == named else agent_id, None if sender == named else sender
    if call.session is not None:
        agent_type = caller.agent_type or call.session.agent_type
        caller = replace(caller, agent=call.session.agent, agent_type=agent_type)
    elif not call.settings.auth_on and (caller.agent is None or caller.operator):
        caller = replace(caller, agent=agent_id or sender or caller.agent)
    owner = private_owner(call.caller, caller.agent, auth_on=call.settings.auth_on) if caller.agent else ""
    reader = BlackboardReader.from_caller(caller, owner)
    if {agent_id or reader.name, sender or reader.name} != {reader.name}:
        raise errors.Forbidden(
            f"You are the agent '{reader.name}' and cannot act as another.",
            hint="Omit agent_id and sender, or pass your session_id from memory_start_session as agent_session.",
        )
    call.caller = caller
    if needs_agent:
        call.require_agent()
    return reader


def default_session_project(call: Call) -> str:
    """Return the project of a new session when none is named."""
    if call.session is not None:
        return call.session.project
    caller = call.caller
    if caller.sees_project(access.SHARED):
        return access.SHARED
    if len(caller.projects) == 1:
        return next(iter(caller.projects))
    raise errors.Invalid("This key has no default project.", hint="Pass project with one of its projects.")


async def load_visible_session(call: Call, session_id: str) -> Row:
    """Load the session if the caller sees its project, and set the call's project to it."""
    if agent_session.is_session_id(session_id):
        raise errors.NotFound(
            "session_id is your own session from memory_start_session, not a blackboard.",
            hint="Pass it as agent_session. Find the blackboard's session_id with list_sessions, or create one"
            " with create_session.",
        )
    project, full_id = await _locate_session(call, session_id)
    row = (
        await store.load_session_row(call.tx, project, full_id) if call.caller.sees_project(project) else None
    )
    if row is None:
        raise session_not_found(session_id)
    call.project = project
    return row


async def _locate_session(call: Call, session_id: str) -> tuple[str, str]:
    project = _project_by_session.get(session_id) or await store.find_project_of_session(call.tx, session_id)
    if project is None:
        return await _resolve_id_prefix(call, session_id)
    if len(_project_by_session) >= _MAX_CACHED_PROJECTS:
        _project_by_session.clear()
    _project_by_session[session_id] = project
    return project, session_id


async def _resolve_id_prefix(call: Call, id_prefix: str) -> tuple[str, str]:
    if (
        not id_prefix.startswith(_ID_PREFIX)
        or not MIN_PREFIX_CHARACTERS <= len(id_prefix) - len(_ID_PREFIX) < _ID_DIGITS
    ):
        raise session_not_found(id_prefix)
    rows = await store.list_sessions_in_id_range(
        call.tx, id_prefix.ljust(_ID_CHARACTERS, "0"), id_prefix.ljust(_ID_CHARACTERS, "f"), _MAX_CANDIDATES
    )
    matches = [
        row for row in rows if row["id"].startswith(id_prefix) and call.caller.sees_project(row["project"])
    ]
    if not matches:
        raise session_not_found(id_prefix)
    if len(matches) > 1:
        raise errors.Conflict(
            f"'{id_prefix}' matches several sessions.",
            hint="Pass the whole session_id; see candidates.",
            candidates=[row["id"] for row in matches],
        )
    return matches[0]["project"], matches[0]["id"]


def session_not_found(session_id: str) -> errors.NotFound:
    return errors.NotFound(
        f"Blackboard session '{session_id}' does not exist.",
        hint="Find its session_id with list_sessions, or create one with create_session.",
    )


def reader_view(
    row: Row, reader: BlackboardReader, visibilities: Collection[Visibility] = ALL_VISIBILITIES
) -> store.MessageView:
    return store.MessageView(row["project"], row["id"], reader.list_audiences(visibilities))


async def describe_session(call: Call, row: Row, reader: BlackboardReader) -> model.BlackboardSession:
    """Describe the session, counting only what this reader may see."""
    message_counts = await store.count_messages_by_sender(call.tx, [row], reader.list_audiences())
    return model.BlackboardSession.from_row(
        row, message_counts[row["id"]], model.idle_cutoff(call.now, call.settings)
    )


async def load_message(call: Call, session: Row, reader: BlackboardReader, id_prefix: str) -> Row:
    first, last = model.message_id_range(id_prefix)
    candidates = await store.list_messages_in_id_range(call.tx, reader_view(session, reader), first, last)
    rows = [row for row in candidates if row["id"].startswith(id_prefix)]
    if not rows:
        raise errors.NotFound(
            f"Message '{id_prefix}' does not exist here, or you may not see it.",
            hint="List the messages that you may see with get_context(include_private=true).",
        )
    if len(rows) > 1:
        raise errors.Conflict(
            f"'{id_prefix}' matches several messages.",
            hint="Pass the whole message_id; see candidates.",
            candidates=[row["id"] for row in rows],
        )
    return rows[0]


async def list_blackboards(
    call: Call, reader: BlackboardReader, project: str | None, active_only: bool, limit: int, offset: int
) -> model.BlackboardListing:
    """The blackboards of a project, or of all that the caller sees."""
    if project is not None:
        projects = [project] if call.caller.sees_project(project) else []
    elif access.ALL_PROJECTS in call.caller.projects:
        projects = await list_all_project_names(call.tx)
    else:
        projects = sorted(call.caller.projects)
    idle_since = model.idle_cutoff(call.now, call.settings)
    total, rows = await store.list_session_rows(call.tx, projects, active_only, idle_since, limit, offset)
    message_counts = await store.count_messages_by_sender(call.tx, rows, reader.list_audiences())
    return model.BlackboardListing(
        total=total,
        sessions=[
            model.BlackboardSession.from_row(row, message_counts[row["id"]], idle_since) for row in rows
        ],
    )
