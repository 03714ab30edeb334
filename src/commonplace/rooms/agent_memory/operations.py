"""Set, get, list and delete values in an agent's own key-value memory.

The identity of the agent and blackboard sessions come from `rooms/blackboard`.
"""

from typing import Annotated, Any

from pydantic import Field

from commonplace import errors
from commonplace.access import Caller
from commonplace.call import Call
from commonplace.identity import session as agent_session
from commonplace.operation import operation
from commonplace.project import ensure_project
from commonplace.rooms.agent_memory import model, store
from commonplace.rooms.agent_memory.store import MemoryOwner
from commonplace.rooms.blackboard.model import BlackboardId, encode_metadata
from commonplace.rooms.blackboard.reader import AgentId, identify_reader, load_visible_session
from commonplace.store.database import Row


@operation(
    "set_memory",
    writes=True,
    session="own",
    example={"key": "plan", "value": {"step": 1}, "expires_in": 3600},
    verbatim=("key",),
    keywords="private scratchpad, save, cache, variable, setting, JSON, note to self",
)
async def set_memory(
    call: Call,
    key: model.MemoryKey,
    value: Any,
    session_id: Annotated[BlackboardId | None, Field(description="Blackboard; default: none.")] = None,
    expires_in: model.ExpirySeconds | None = None,
    metadata: dict[str, Any] | None = None,
    overwrite: Annotated[bool, Field(description="false: refused if it exists.")] = True,
    expected_version: model.MemoryVersion | None = None,
    agent_id: AgentId | None = None,
) -> model.StoredMemory:
    """Store a value of your own under a key. It survives restarts."""
    owner, session = await _resolve_scope(call, session_id, agent_id)
    encoded_value, encoded_metadata = model.encode_value(value), encode_metadata(metadata)
    usage = await store.add_usage(call.tx, owner)
    now = call.now
    current = await store.load_stored_entry(call.tx, owner, session, key)
    if current and not _is_unexpired(current, now):
        usage, current = await store.delete_expired_entries(call.tx, owner, now), None
    model.require_writable(current, key, overwrite=overwrite, expected_version=expected_version)
    size = len(key) + len(encoded_value.encode()) + len(encoded_metadata.encode())
    added = (0, size - current["size"]) if current else (1, size)
    await _require_quota(call, owner, usage, added, now)
    expires_at, version = model.compute_expiry(now, expires_in), current["version"] + 1 if current else 1
    created_at = current["created_at"] if current else now
    await store.upsert_entry(
        call.tx,
        owner,
        session,
        key,
        encoded_value,
        encoded_metadata,
        size,
        version,
        created_at,
        now,
        expires_at,
    )
    await store.add_usage(call.tx, owner, *added)
    return model.StoredMemory(
        success=True,
        key=key,
        scope=model.scope_of_session(session),
        version=version,
        expires_at=model.format_expiry(expires_at),
    )


async def _require_quota(
    call: Call, owner: MemoryOwner, usage: tuple[int, int], added: tuple[int, int], now: int
) -> None:
    """Refuse what exceeds the agent's limits, after deleting expired entries."""
    if model.quota_refusal(usage[0] + added[0], usage[1] + added[1], call.settings) is None:
        return
    usage = await store.delete_expired_entries(call.tx, owner, now)
    if refusal := model.quota_refusal(usage[0] + added[0], usage[1] + added[1], call.settings):
        raise refusal


@operation("get_memory", role="readonly", session="own", keywords="load private key, variable, state, saved")
async def get_memory(
    call: Call,
    key: model.MemoryKey,
    session_id: Annotated[BlackboardId | None, Field(description="Blackboard; default: none.")] = None,
    agent_id: AgentId | None = None,
) -> model.MemoryEntry:
    """Read a value that you stored."""
    owner, session = await _resolve_scope(call, session_id, agent_id)
    row = await store.load_entry(call.tx, owner, session, key, call.now)
    if row is None:
        raise errors.NotFound(
            f"'{key}' is not set in your {model.scope_of_session(session)} memory, or has expired.",
            hint="List your keys with list_memory(session_id='all').",
        )
    return model.MemoryEntry.from_row(row)


@operation(
    "list_memory",
    role="readonly",
    session="own",
    example={"prefix": "plan"},
    keywords="saved values, glob, prefix",
)
async def list_memory(
    call: Call,
    session_id: Annotated[BlackboardId | None, Field(description="Blackboard; `all`: every scope.")] = None,
    pattern: Annotated[model.KeyPattern | None, Field(description="Glob.")] = None,
    prefix: model.KeyPattern | None = None,
    limit: model.MemoryLimit = 50,
    offset: model.MemoryOffset = 0,
    agent_id: AgentId | None = None,
) -> model.MemoryListing:
    """List the keys that you stored."""
    all_scopes = session_id == model.ALL_SCOPES
    owner, session = await _resolve_scope(call, None if all_scopes else session_id, agent_id)
    rows = await store.list_entries(
        call.tx,
        owner,
        None if all_scopes else session,
        model.key_prefix(pattern, prefix),
        call.now,
    )
    matches = sorted(model.filter_by_pattern(rows, pattern), key=lambda row: (row["session"], row["key"]))
    return model.MemoryListing(
        total=len(matches),
        entries=[model.ListedMemory.from_row(row) for row in matches[offset : offset + limit]],
    )


@operation(
    "delete_memory",
    writes=True,
    session="own",
    destroys=True,
    idempotent=True,
    example={"key": "plan"},
    verbatim=("key",),
    keywords="forget, remove key",
)
async def delete_memory(
    call: Call,
    key: model.MemoryKey,
    session_id: Annotated[BlackboardId | None, Field(description="Blackboard; default: none.")] = None,
    agent_id: AgentId | None = None,
) -> model.DeletedMemory:
    """Delete a value that you stored."""
    owner, session = await _resolve_scope(call, session_id, agent_id)
    await store.add_usage(call.tx, owner)
    now = call.now
    deleted = await store.delete_entry(call.tx, owner, session, key)
    if deleted:
        await store.add_usage(call.tx, owner, -1, -deleted["size"])
    return model.DeletedMemory(success=True, deleted=deleted is not None and _is_unexpired(deleted, now))


async def _resolve_scope(call: Call, session_id: str | None, agent_id: str | None) -> tuple[MemoryOwner, str]:
    """Return the memory's owner and its session ("" = none)."""
    if session_id and agent_session.is_session_id(session_id):
        call.session = await agent_session.load_session(call.tx, session_id, call.caller)
        session_id = None
    reader = await identify_reader(call, agent_id, needs_agent=True)
    session = (await load_visible_session(call, session_id))["id"] if session_id else ""
    call.project = _require_memory_project(call.caller)
    call.subject = session or "agent"
    if call.writes:
        await ensure_project(call.tx, call.project, call.now)
    return MemoryOwner(call.project, reader.owner), session


def _is_unexpired(row: Row, now: int) -> bool:
    return row["expires_at"] is None or row["expires_at"] > now


def _require_memory_project(caller: Caller) -> str:
    project = store.find_memory_project(caller)
    if project is None:
        raise errors.Forbidden(
            "This key has no project.",
            hint="Ask the owner for a key with projects (memory_admin create_key).",
        )
    return project
