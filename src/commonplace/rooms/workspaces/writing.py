"""Who may write where, and what a text must pass before it is kept."""

import hashlib
from typing import Literal

from commonplace import errors, masking
from commonplace.call import Call
from commonplace.rooms.workspaces import files, model, store
from commonplace.rooms.workspaces.model import Workspace
from commonplace.store.database import Row

LOCAL = "local"


def writer(call: Call) -> str:
    """To whom a workspace is bound: the agent if the caller has a name, else its key."""
    return (call.session.agent if call.session else call.caller.agent) or call.caller.key or LOCAL


def session(call: Call) -> str:
    return call.session.id if call.session else ""


async def own(call: Call, workspace_id: str | None) -> Workspace:
    """The workspace that the caller is bound to: the one it names, else the one it registered last."""
    wanted = workspace_id or await registered_last(call)
    if wanted is None:
        raise errors.NotFound("You have no workspace yet.", hint="Call register_workspace first.")
    workspace = await store.workspace(call.tx, wanted, call.caller)
    store.require_writable(workspace)
    if not await store.is_bound(call.tx, workspace, writer(call)):
        raise errors.Forbidden(
            f"The workspace '{workspace.id}' is another's.",
            hint="Write to your own; register_workspace binds you to it.",
        )
    call.project = workspace.project
    return workspace


async def carried(call: Call, workspace_id: str, write_token: str) -> Workspace:
    """The workspace that the token writes to."""
    workspace = await store.workspace(call.tx, workspace_id, call.caller)
    await store.check_token(call.tx, workspace, write_token)
    call.project = workspace.project
    return workspace


async def registered_last(call: Call) -> str | None:
    projects = await store.visible_projects(call.tx, call.caller)
    return await store.latest_binding(call.tx, projects, writer(call), session(call))


async def keep_file(
    call: Call, workspace: Workspace, path: str, content: str, base: str | None, sha256: str | None = None
) -> model.Written:
    """One version more, unless it is there already; refused when it was written from another text than stands there."""
    model.refuse_larger(content, model.FILE_BYTES)
    given = _digest(content)
    if sha256 is not None and sha256 != given:
        raise errors.Invalid(
            "sha256 is not that of content.", hint="It is taken of the UTF-8 text.", sha256=given
        )
    await files.one_at_a_time(call.tx, workspace)
    row = await files.find(call.tx, workspace, path)
    there = row if row is not None and not row["deleted"] else None
    call.subject = f"{workspace.id} {path}"
    if there is not None and given in (there["sha256"], there["given_sha256"]):
        return model.Written(status="unchanged", sha256=there["sha256"], version=there["version"])
    _refuse_other_base(there, base)
    what: Literal["updated", "created"] = "updated" if there else "created"
    kept, version = await _keep(call, workspace, row, path, content, what)
    await store.touch(call.tx, workspace, call.now, knowledge=int(there is None))
    call.emit("KnowledgeWritten", workspace.file_uri(path), path=path, version=version)
    return model.Written(status=what, sha256=_digest(kept.text), version=version, masked=_kinds(kept))


async def keep_overview(call: Call, workspace: Workspace, content: str) -> model.OverviewWritten:
    model.refuse_larger(content, model.OVERVIEW_BYTES)
    await files.one_at_a_time(call.tx, workspace)
    row = await files.find(call.tx, workspace, files.OVERVIEW)
    call.subject = workspace.id
    if row is not None and row["given_sha256"] == _digest(content):
        return model.OverviewWritten(workspace_id=workspace.id, version=row["version"])
    kept, version = await _keep(
        call, workspace, row, files.OVERVIEW, content, "updated" if row else "created"
    )
    await _overview_changed(call, workspace, kept.text, version)
    return model.OverviewWritten(workspace_id=workspace.id, version=version, masked=_kinds(kept))


async def restore(call: Call, workspace: Workspace, path: str, number: int | None) -> model.Restored:
    """An older text stands there again, as one version more."""
    await files.one_at_a_time(call.tx, workspace)
    row = await files.find(call.tx, workspace, path)
    if row is None:
        raise not_there(path)
    old = await _older(call, row, number)
    digest = old["sha256"]
    if not row["deleted"] and digest == row["sha256"]:
        return model.Restored(path=path, restored=old["version"], version=row["version"], sha256=digest)
    _, version = await _keep(call, workspace, row, path, old["content"], f"restored {old['version']}")
    call.subject = f"{workspace.id} {path} version {old['version']}"
    if path == files.OVERVIEW:
        await _overview_changed(call, workspace, old["content"], version)
    else:
        await store.touch(call.tx, workspace, call.now, knowledge=row["deleted"])
        call.emit("KnowledgeWritten", workspace.file_uri(path), path=path, version=version)
    return model.Restored(path=path, restored=old["version"], version=version, sha256=digest)


async def _older(call: Call, row: Row, number: int | None) -> Row:
    if number is None:
        found = await files.last_text_before(call.tx, row, row["version"])
    else:
        found = await files.version(call.tx, row, number)
    if found is None or found["what"] == "deleted":
        raise no_version()
    return found


async def _overview_changed(call: Call, workspace: Workspace, content: str, version: int) -> None:
    await store.summarise(call.tx, workspace, model.summary_of(content))
    await store.touch(call.tx, workspace, call.now)
    call.emit("OverviewWritten", workspace.uri, version=version)


async def _keep(
    call: Call, workspace: Workspace, row: Row | None, path: str, content: str, what: str
) -> tuple[masking.Masked, int]:
    kept = masking.masked(content)
    if kept.kinds and call.settings.secrets == "refuse":
        raise errors.Invalid(
            f"The text holds a secret ({', '.join(_kinds(kept))}).",
            hint="Leave it out: knowledge is read by many.",
        )
    draft = files.Draft(
        path,
        kept.text,
        len(kept.text.encode()),
        _digest(kept.text),
        _digest(content),
        call.agent if call.session or call.caller.agent else writer(call),
        what,
        call.now,
    )
    return kept, await files.write(call.tx, workspace, row, draft)


def _refuse_other_base(there: Row | None, base: str | None) -> None:
    if base is None or (there is not None and base in (there["sha256"], there["given_sha256"])):
        return
    raise errors.Conflict(
        "The stored text is not the one that this was written from.",
        hint="Read it again, bring in its changes, and send its sha256 as base_sha256.",
        sha256=there["sha256"] if there else "",
        version=there["version"] if there else 0,
    )


def not_there(path: str) -> errors.NotFound:
    what = f"file '{path}'" if path else "overview"
    return errors.NotFound(f"There is no {what} in this workspace.", hint="list_knowledge names its files.")


def no_version() -> errors.NotFound:
    return errors.NotFound("There is no such version with a text.", hint="list_versions names them.")


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _kinds(kept: masking.Masked) -> list[str]:
    return sorted(set(kept.kinds))
