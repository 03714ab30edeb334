"""Make and revoke keys, read the audit trail, report the server's health."""

import secrets
import time
from collections.abc import Sequence

from commonplace import __version__, access, errors, events
from commonplace.access import EVERY, Role
from commonplace.activity import SESSION_LIVE_MICROSECONDS
from commonplace.call import Call
from commonplace.clock import DAY, iso
from commonplace.operation import Family, operation
from commonplace.rooms.admin import model, store
from commonplace.rooms.agents.model import AgentName
from commonplace.rooms.workspaces import store as workspace_store
from commonplace.rooms.workspaces.model import WorkspaceId
from commonplace.store.database import Row

_LATEST = (2**62, "")


@operation(
    "memory_admin",
    role="owner",
    writes=True,
    session="optional",
    example={"name": "ci", "role": "agent", "projects": ["shop"]},
)
async def create_key(
    call: Call,
    name: model.KeyName,
    role: Role = "agent",
    projects: model.Projects | None = None,
    agent: AgentName | None = None,
    agent_type: model.AgentType | None = None,
    expires_in_days: model.Days | None = None,
    machines: model.Limits | None = None,
    workspaces: model.Limits | None = None,
) -> model.CreatedKey:
    """Make a key; it is shown once. It writes only to the workspaces named, or of the machines named."""
    _require_keys_may_change(call)
    scope = model.granted(call.caller, role, projects)
    limits = model.limited(call.caller, machines or [], workspaces or [])
    await _one_at_a_time(call)
    if await store.name_is_taken(call.tx, name, call.now):
        raise errors.Duplicate(
            f"A key '{name}' exists.", hint="Choose another name, or revoke that key first."
        )
    secret, key_id = model.mint(), f"key_{secrets.token_hex(4)}"
    expires_at = call.now + expires_in_days * DAY if expires_in_days else None
    await store.add_key(
        call.tx,
        key_id,
        secret,
        name=name,
        role=role,
        projects=scope,
        agent=agent,
        agent_type=agent_type,
        created_by=call.agent,
        now=call.now,
        expires_at=expires_at,
        **limits,
    )
    call.subject = f"create_key {key_id} {name} ({role})"
    return model.CreatedKey(
        status="created",
        key=secret,
        id=key_id,
        name=name,
        role=role,
        projects=scope,
        agent=agent,
        agent_type=agent_type,
        **limits,
        expires_at=iso(expires_at) if expires_at else None,
        warning="" if scope else "This key sees no project: give projects, or ['*'] for all.",
    )


@operation(
    "memory_admin",
    role="owner",
    writes=True,
    session="optional",
    destroys=True,
    idempotent=True,
    example={"name": "ci"},
    verbatim=("name",),
)
async def revoke_key(call: Call, name: model.KeyName) -> model.RevokedKey:
    """Stop a key at once, by its name or id."""
    _require_keys_may_change(call)
    await _one_at_a_time(call)
    rows = await store.unrevoked_keys(call.tx, name)
    key = model.chosen([row for row in rows if model.visible(call.caller, row)], name)
    if key["role"] == "owner" and not call.caller.operator:
        await _require_another_owner(call, key)
    await store.revoke(call.tx, key["id"], call.now)
    call.subject = f"revoke_key {key['id']} {key['name']}"
    call.emit("KeyRevoked", "keys://", project=access.SHARED, audience="owner", id=key["id"])
    return model.RevokedKey(status="revoked", id=key["id"], name=key["name"])


@operation(
    "memory_admin",
    role="admin",
    writes=True,
    session="optional",
    destroys=True,
    idempotent=True,
    example={"name": "laptop-claude-code-shop"},
)
async def revoke_writer(call: Call, name: WorkspaceId, agent: AgentName | None = None) -> model.RevokedWriter:
    """Stop who writes to the workspace of this id: its write token, or this agent."""
    workspace = await workspace_store.workspace(call.tx, name, call.caller)
    workspace_store.require_writable(workspace)
    call.project, call.subject = workspace.project, f"revoke_writer {workspace.id} {agent or 'token'}"
    if agent is None:
        ended = await workspace_store.revoke_token(call.tx, workspace, call.now)
    else:
        ended = await workspace_store.unbind(call.tx, workspace, agent)
    return model.RevokedWriter(status="revoked" if ended else "none", workspace_id=workspace.id)


@operation("memory_admin", role="owner", session="optional", example={})
async def list_keys(call: Call, limit: model.Limit = 50, offset: model.Offset = 0) -> model.Keys:
    """All keys, newest first, without their secrets."""
    shown = [row for row in await store.all_keys(call.tx) if model.visible(call.caller, row)]
    following = offset + limit
    return model.Keys(
        total=len(shown),
        keys=[model.Key.of(row, call.now) for row in shown[offset:following]],
        next_offset=following if following < len(shown) else None,
    )


@operation("memory_admin", role="admin", session="optional", example={"limit": 10})
async def audit_log(
    call: Call,
    limit: model.Limit = 50,
    event_type: str | None = None,
    agent: str | None = None,
    cursor: model.Cursor | None = None,
) -> model.AuditPage:
    """Writes and refusals, newest first; event_type is an operation, an act or an outcome."""
    before = _place(cursor)
    projects = None if EVERY in call.caller.projects else sorted(call.caller.projects)
    rows = await store.audit_page(call.tx, projects, before, event_type, agent, limit)
    return model.AuditPage(
        count=len(rows),
        events=[model.AuditRow.of(row) for row in rows],
        next_cursor=await _next_cursor(call, rows, before, limit),
    )


@operation("memory_admin", role="readonly", session="optional", example={})
async def auth_status(call: Call) -> model.AuthStatus:
    """Whether keys are asked for, and what the caller may do."""
    return model.AuthStatus(
        auth=call.settings.auth,
        role=call.caller.role,
        projects=sorted(call.caller.projects),
        key=call.caller.key,
        agent=call.caller.agent,
        operator=call.caller.operator,
    )


admin = Family(
    "memory_admin",
    "Keys (owner), audit (admin), your own access (auth_status).",
    {
        "create_key": create_key,
        "revoke_key": revoke_key,
        "revoke_writer": revoke_writer,
        "list_keys": list_keys,
        "audit_log": audit_log,
        "auth_status": auth_status,
    },
)


@operation("memory_health", role="readonly", session=False, example={})
async def health(call: Call) -> model.Health:
    """Is the server well?"""
    asked = time.perf_counter()
    alive = await store.alive(call.tx, call.now - SESSION_LIVE_MICROSECONDS, call.now)
    latency = (time.perf_counter() - asked) * 1000
    return model.Health(
        status="ok",
        version=__version__,
        uptime_seconds=int(time.monotonic() - model.STARTED),
        store=model.StoreHealth(kind=call.tx.kind, ok=True, latency_ms=round(latency, 3)),
        active_sessions=alive["sessions"],
        active_locks=alive["locks"],
        search=model.SearchHealth(
            ok=not call.search.trouble,
            pending=await call.search.pending(call.tx),
            problem=call.search.trouble,
            without_vectors=call.search.without_vectors,
        ),
    )


def _require_keys_may_change(call: Call) -> None:
    """While nobody is asked for a key anybody could make one that outlives the open door."""
    if not call.settings.auth_on and not call.caller.operator:
        raise errors.Forbidden(
            "While keys are off only the local operator makes or revokes them.",
            hint="On the server's machine: commonplace key create --name NAME --role ROLE",
        )


async def _one_at_a_time(call: Call) -> None:
    """Names of live keys and the last owner are checked before they are written."""
    await events.count(call.tx, access.SHARED, "key")


async def _require_another_owner(call: Call, key: Row) -> None:
    if not await store.has_other_owner(call.tx, key["id"], call.now):
        raise errors.Conflict(
            "This is the last owner's key.", hint="Create another owner first, or use the command line."
        )


def _place(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return _LATEST
    at, _, row_id = cursor.partition("-")
    return int(at), row_id


async def _next_cursor(call: Call, rows: Sequence[Row], before: tuple[int, str], limit: int) -> str | None:
    """A full page ends at its last row; a thin one at the end of the window, if anything lies behind."""
    if len(rows) == limit:
        return f"{rows[-1]['at']}-{rows[-1]['id']}"
    end = await store.window_end(call.tx, before)
    return f"{end[0]}-{end[1]}" if end else None
