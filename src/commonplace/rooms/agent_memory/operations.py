"""Remember a value, read it, list what is there, forget it."""

from typing import Any

from commonplace import errors
from commonplace.call import Call
from commonplace.operation import operation
from commonplace.rooms.agent_memory import model, store
from commonplace.rooms.agent_memory.store import Owner
from commonplace.rooms.blackboard.model import BlackboardId
from commonplace.rooms.blackboard.model import encode_metadata as packed_metadata
from commonplace.rooms.blackboard.reader import AgentId, identify_reader, memory_project
from commonplace.rooms.blackboard.session import load_visible_session
from commonplace.rooms.sessions.store import enter_project
from commonplace.store.database import Row


@operation(
    "set_memory",
    writes=True,
    session=False,
    example={"key": "plan", "value": {"step": 1}, "expires_in": 3600},
    verbatim=("key",),
)
async def set_memory(
    call: Call,
    key: model.Key,
    value: Any,
    session_id: BlackboardId | None = None,
    expires_in: model.ExpiresIn | None = None,
    metadata: dict[str, Any] | None = None,
    overwrite: bool = True,
    expected_version: model.Version | None = None,
    agent_id: AgentId | None = None,
) -> model.Stored:
    """Keep any JSON for yourself; expires_in is seconds."""
    owner, session = await _scope(call, session_id, agent_id)
    text, more = model.packed(value), packed_metadata(metadata)
    used = await store.use(call.tx, owner)
    now = await call.tx.clock()
    live = await store.stored(call.tx, owner, session, key)
    if live and not _is_live(live, now):
        used, live = await store.forget_expired(call.tx, owner, now), None
    model.require_writable(live, key, overwrite=overwrite, expected_version=expected_version)
    size = len(key) + len(text.encode()) + len(more.encode())
    added = (0, size - live["size"]) if live else (1, size)
    await _require_room(call, owner, used, added, now)
    expires_at, version = model.expiry(now, expires_in), live["version"] + 1 if live else 1
    created_at = live["created_at"] if live else now
    await store.put(call.tx, owner, session, key, text, more, size, version, created_at, now, expires_at)
    await store.use(call.tx, owner, *added)
    return model.Stored(
        success=True,
        key=key,
        scope=model.scope(session),
        version=version,
        expires_at=model.shown(expires_at),
    )


async def _require_room(
    call: Call, owner: Owner, used: tuple[int, int], added: tuple[int, int], now: int
) -> None:
    """Refuse what goes over the agent's limits, but not because of entries that have expired."""
    if model.over_limit(used[0] + added[0], used[1] + added[1], call.settings) is None:
        return
    used = await store.forget_expired(call.tx, owner, now)
    if refusal := model.over_limit(used[0] + added[0], used[1] + added[1], call.settings):
        raise refusal


@operation("get_memory", role="readonly", session=False)
async def get_memory(
    call: Call, key: model.Key, session_id: BlackboardId | None = None, agent_id: AgentId | None = None
) -> model.Entry:
    """What you kept under a key."""
    owner, session = await _scope(call, session_id, agent_id)
    row = await store.entry(call.tx, owner, session, key, await call.tx.clock())
    if row is None:
        raise errors.NotFound(
            f"There is no '{key}' in your {model.scope(session)} memory.",
            hint="It was never set, was deleted or has expired; list_memory shows what is there.",
        )
    return model.Entry.of(row)


@operation("list_memory", role="readonly", session=False, example={"prefix": "plan"})
async def list_memory(
    call: Call,
    session_id: BlackboardId | None = None,
    pattern: model.Pattern | None = None,
    prefix: model.Pattern | None = None,
    limit: model.Limit = 50,
    offset: model.Offset = 0,
    agent_id: AgentId | None = None,
) -> model.Entries:
    """Your keys, by glob or prefix; session_id='all': every scope."""
    every = session_id == model.EVERY_SCOPE
    owner, session = await _scope(call, None if every else session_id, agent_id)
    rows = await store.entries(
        call.tx,
        owner,
        None if every else session,
        model.beginning(pattern, prefix),
        await call.tx.clock(),
    )
    found = sorted(model.matching(rows, pattern), key=lambda row: (row["session"], row["key"]))
    return model.Entries(
        total=len(found), entries=[model.Listed.of(row) for row in found[offset : offset + limit]]
    )


@operation(
    "delete_memory",
    writes=True,
    session=False,
    destroys=True,
    idempotent=True,
    example={"key": "plan"},
    verbatim=("key",),
)
async def delete_memory(
    call: Call, key: model.Key, session_id: BlackboardId | None = None, agent_id: AgentId | None = None
) -> model.Deleted:
    """Forget a key."""
    owner, session = await _scope(call, session_id, agent_id)
    await store.use(call.tx, owner)
    now = await call.tx.clock()
    gone = await store.remove(call.tx, owner, session, key)
    if gone:
        await store.use(call.tx, owner, -1, -gone["size"])
    return model.Deleted(success=True, deleted=gone is not None and _is_live(gone, now))


async def _scope(call: Call, session_id: str | None, agent_id: str | None) -> tuple[Owner, str]:
    """Whose memory this is, and for which session ("" = for all)."""
    reader = await identify_reader(call, agent_id)
    session = (await load_visible_session(call, session_id))["id"] if session_id else ""
    call.project = memory_project(call.caller)
    call.subject = session or "global"
    if call.writes:
        await enter_project(call.tx, call.project, call.now)
    return Owner(call.project, reader.owner), session


def _is_live(row: Row, now: int) -> bool:
    return row["expires_at"] is None or row["expires_at"] > now
