"""Create, revoke and list keys, read the audit log, and report the server's health."""

import secrets
import time
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from commonplace import __version__, access, errors
from commonplace.access import ALL_PROJECTS, Role
from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.clock import DAY, iso
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.identity.names import name_key_holder, require_unreserved
from commonplace.operation import OperationFamily, operation
from commonplace.rooms.admin import model, store, token_subjects
from commonplace.rooms.admin.contributes import KEY_REVOKED
from commonplace.rooms.workspaces import store as workspace_store
from commonplace.rooms.workspaces.model import WorkspaceId
from commonplace.store.counters import lock_project
from commonplace.store.database import Row

_NEWEST_POSITION = (2**62, "")
_NO_PROJECTS = "This key has no projects. Revoke it and create one with `projects` set (['*'] = all)."


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
    projects: model.KeyProjects | None = None,
    agent: Annotated[AgentName | None, Field(description="The key's only agent.")] = None,
    agent_type: model.AgentType | None = None,
    expires_in_days: model.ExpiryDays | None = None,
    machines: model.KeyLimits | None = None,
    workspaces: model.KeyLimits | None = None,
    person: bool = False,
) -> model.CreatedKey:
    """Create a key; its secret is shown once. `machines` and `workspaces` limit where it may write."""
    _require_key_changes_allowed(call)
    scope = model.resolve_key_projects(call.caller, role, projects)
    limits = model.resolve_key_limits(call.caller, machines or [], workspaces or [])
    await _lock_key_changes(call)
    await _require_free_key_name(call, name, agent)
    secret, key_id = model.mint_key_secret(), f"key_{secrets.token_hex(4)}"
    expires_at = call.now + expires_in_days * DAY if expires_in_days else None
    await store.insert_key(
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
        is_person=person,
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
        person=person,
        **limits,
        expires_at=iso(expires_at) if expires_at else None,
        warning="" if scope else _NO_PROJECTS,
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
    """Revoke a key by name or id; it stops working at once."""
    _require_key_changes_allowed(call)
    await _lock_key_changes(call)
    rows = await store.list_unrevoked_keys(call.tx, name)
    key = model.choose_key([row for row in rows if model.is_visible_key(call.caller, row)], name)
    if key["role"] == "owner" and not call.caller.operator:
        await _require_another_owner(call, key)
    await store.mark_key_revoked(call.tx, key["id"], call.now)
    call.subject = f"revoke_key {key['id']} {key['name']}"
    call.emit(KEY_REVOKED, project=access.SHARED, audience="owner", id=key["id"])
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
    """Revoke the write token of a workspace, or the write access of `agent`."""
    workspace = await workspace_store.load_workspace(call.tx, name, call.caller)
    workspace_store.require_writable(workspace)
    call.project, call.subject = workspace.project, f"revoke_writer {workspace.id} {agent or 'token'}"
    if agent is None:
        revoked = await workspace_store.revoke_write_token(call.tx, workspace, call.now)
    else:
        revoked = await workspace_store.unbind_agent(call.tx, workspace, agent)
    return model.RevokedWriter(status="revoked" if revoked else "none", workspace_id=workspace.id)


@operation("memory_admin", role="owner", session="optional", example={})
async def list_keys(
    call: Call, limit: model.AdminPageLimit = 50, offset: model.AdminPageOffset = 0
) -> model.ApiKeyListing:
    """List keys, newest first, without their secrets."""
    visible_rows = [
        row for row in await store.list_all_keys(call.tx) if model.is_visible_key(call.caller, row)
    ]
    page_end = offset + limit
    return model.ApiKeyListing(
        total=len(visible_rows),
        keys=[model.ApiKey.from_row(row, call.now) for row in visible_rows[offset:page_end]],
        next_offset=page_end if page_end < len(visible_rows) else None,
    )


@operation("memory_admin", role="admin", session="optional", example={"limit": 10})
async def list_audit_log(
    call: Call,
    limit: model.AdminPageLimit = 50,
    event_type: model.AuditFilter | None = None,
    agent: model.AuditFilter | None = None,
    cursor: model.AuditCursor | None = None,
) -> model.AuditPage:
    """List writes and refusals, newest first; event_type is an operation, action or outcome."""
    position = _parse_audit_cursor(cursor)
    projects = None if ALL_PROJECTS in call.caller.projects else sorted(call.caller.projects)
    rows = await store.list_audit_rows(call.tx, projects, position, event_type, agent, limit)
    return model.AuditPage(
        count=len(rows),
        events=[model.AuditRow.from_row(row) for row in rows],
        next_cursor=await _next_audit_cursor(call, rows, position, limit),
    )


@operation("memory_admin", role="readonly", session="optional", example={})
async def get_auth_status(call: Call) -> model.AuthStatus:
    """Show whether keys are required, and the caller's role and projects."""
    key = await store.find_key_row(call.tx, call.caller.key) if call.caller.key else None
    return model.AuthStatus(
        auth=call.settings.auth,
        name=name_key_holder(key["name"]) if key else "",
        role=call.caller.role,
        projects=sorted(call.caller.projects),
        key=call.caller.key,
        agent=call.caller.agent,
        operator=call.caller.operator,
    )


admin = OperationFamily(
    "memory_admin",
    "Manage access keys and read the audit log.",
    {
        "create_key": create_key,
        "revoke_key": revoke_key,
        "revoke_writer": revoke_writer,
        "list_keys": list_keys,
        "audit_log": list_audit_log,
        "auth_status": get_auth_status,
    },
    keywords="create, revoke, disable, list API keys, token for an agent, owner, audit trail",
)


@operation(
    "memory_readmit_subject",
    role="owner",
    writes=True,
    session=False,
    example={"id": "oauth_0123456789abcdef"},
)
async def readmit_subject(call: Call, id: model.SubjectId) -> model.ReadmittedSubject:
    """Undo the revocation of a person who signs in with OAuth; a revoked key stays revoked."""
    _require_key_changes_allowed(call)
    await _lock_key_changes(call)
    row = await store.find_key_row(call.tx, id)
    if row is None or not model.is_visible_key(call.caller, row) or row["revoked_at"] is None:
        raise errors.NotFound(
            "Nobody with that id is revoked.", hint="Set action='list_keys' of memory_admin to see ids."
        )
    await token_subjects.readmit_subject(call.tx, id)
    call.subject = f"readmit {id} {row['name']}"
    return model.ReadmittedSubject(status="readmitted", id=id)


@operation("memory_health", role="readonly", session=False, example={}, keywords="up, ping, healthy")
async def get_health(call: Call) -> model.ServerHealth:
    """Show the server's version, uptime and state."""
    started = time.perf_counter()
    counts = await store.count_live_sessions_and_locks(
        call.tx, call.now - SESSION_LIVE_MICROSECONDS, await call.tx.clock()
    )
    latency = (time.perf_counter() - started) * 1000
    problem = call.search.last_error or _describe_index_build(await call.search.measure_vector_index(call.tx))
    return model.ServerHealth(
        status="ok",
        version=__version__,
        uptime_seconds=int(time.monotonic() - model.PROCESS_START_SECONDS),
        store=model.StoreHealth(kind=call.tx.kind, ok=True, latency_ms=round(latency, 3)),
        active_sessions=counts["sessions"],
        active_locks=counts["locks"],
        search=model.SearchHealth(
            ok=not problem,
            pending=await call.search.count_queued_entries(call.tx),
            problem=problem,
            without_vectors=call.search.without_vectors,
        ),
    )


def _describe_index_build(share: float) -> str:
    """Empty if the index of vectors is complete."""
    if share >= 1:
        return ""
    return f"The vector index is being built ({share:.0%} done). Until then, large projects are searched by words."


def _require_key_changes_allowed(call: Call) -> None:
    """Without keys anybody could create one that still works after keys are turned on."""
    if not call.settings.auth_on and not call.caller.operator:
        raise errors.Forbidden(
            "Keys are off: only the local operator may create or revoke them.",
            hint="Run on the server's machine: commonplace key create --name NAME --role ROLE",
        )


async def _lock_key_changes(call: Call) -> None:
    """Serialize changes of keys: the checks for names and for the last owner read before they write."""
    await lock_project(call.tx, access.SHARED, "key")


async def _require_free_key_name(call: Call, name: str, agent: str | None) -> None:
    if agent is not None:
        require_unreserved(agent)
        await store.require_free_agent_name(call.tx, agent, call.now)
    if await store.is_key_name_taken(call.tx, name, call.now):
        raise errors.Duplicate(
            f"A key '{name}' already exists.", hint="Choose another name, or revoke that key first."
        )


async def _require_another_owner(call: Call, key: Row) -> None:
    if not await store.has_other_owner_key(call.tx, key["id"], call.now):
        raise errors.Conflict(
            "This is the last owner key.",
            hint="Create another owner key first, or run `commonplace key revoke` on the server's machine.",
        )


def _parse_audit_cursor(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return _NEWEST_POSITION
    at, _, row_id = cursor.partition("-")
    return int(at), row_id


async def _next_audit_cursor(
    call: Call, rows: Sequence[Row], position: tuple[int, str], limit: int
) -> str | None:
    """A full page ends at its last row; a shorter one at the end of the window, if older rows exist."""
    if len(rows) == limit:
        return f"{rows[-1]['at']}-{rows[-1]['id']}"
    end = await store.find_audit_window_end(call.tx, position)
    return f"{end[0]}-{end[1]}" if end else None
