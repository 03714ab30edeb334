"""List and register workspaces; read, search and write their overviews and knowledge files."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from commonplace.arguments import VersionNumber
from commonplace.call import Call
from commonplace.operation import ALL_ARGUMENTS, operation
from commonplace.project import ensure_project
from commonplace.rooms.workspaces import (
    file_store,
    knowledge_search,
    knowledge_writes,
    model,
    overview_page,
    store,
)
from commonplace.rooms.workspaces.events import KNOWLEDGE_DELETED, WORKSPACE_REGISTERED
from commonplace.rooms.workspaces.file_page import DEFAULT_PAGE_BYTES, MAX_PAGE_BYTES, build_file_page
from commonplace.rooms.workspaces.model import ListedWorkspace, Workspace, file_not_found, version_not_found
from commonplace.rooms.workspaces.version_diff import build_version_diff
from commonplace.rooms.workspaces.write_access import (
    find_own_workspace_id,
    name_author_of_file,
    name_writer,
    require_own_token,
    require_own_workspace,
    require_workspace_of_token,
    session_id_of,
)
from commonplace.search.engine import prepare_question
from commonplace.search.lines import Pattern
from commonplace.store.counters import lock_project
from commonplace.store.database import Row

_EXAMPLE_WORKSPACE_ID = "laptop-claude-code-shop"


@operation("get_overview", role="any", session="own", example={}, keywords="machine, tool")
async def get_overview(
    call: Call,
    workspace_id: model.WorkspaceId | None = None,
    limit: model.Limit = 50,
    max_tokens: model.Tokens = 4000,
) -> model.WorkspaceOverview:
    """Show all workspaces, or one's overview page."""
    own_id = await find_own_workspace_id(call)
    if workspace_id is None:
        visible = store.WorkspaceFilter(await store.list_visible_projects(call.tx, call.caller))
        workspaces, total = await store.list_workspaces(call.tx, visible, call.caller, limit)
        page, author = overview_page.README, ""
    else:
        workspaces, total = [await _load_workspace(call, workspace_id)], 1
        overview = await file_store.find_overview(call.tx, workspaces[0])
        page, author = (overview["content"], overview["author"]) if overview else ("", "")
    listed = [ListedWorkspace.from_workspace(workspace) for workspace in workspaces]
    reply = overview_page.build_overview(page, listed, max_tokens)
    reply.omitted += total - len(workspaces)
    reply.your_workspace, reply.author = own_id, name_author_of_file(author)
    return reply


@operation("list_workspaces", role="any", session="own", example={"project": "shop"}, keywords="exist")
async def list_workspaces(
    call: Call,
    machine: model.MachineOrToolName | None = None,
    tool: model.MachineOrToolName | None = None,
    project: str | None = None,
    limit: model.Limit = 50,
    offset: model.Offset = 0,
) -> model.WorkspaceListing:
    """List the workspaces of machines, tools and projects."""
    projects = [project] if project else await store.list_visible_projects(call.tx, call.caller)
    workspaces, total = await store.list_workspaces(
        call.tx, store.WorkspaceFilter(projects, machine, tool), call.caller, limit, offset
    )
    return model.WorkspaceListing(
        workspaces=[ListedWorkspace.from_workspace(workspace) for workspace in workspaces], total=total
    )


@operation(
    "register_workspace",
    role="sync",
    writes=True,
    session="own",
    idempotent=True,
    example={"machine": "laptop", "tool": "claude-code", "project": "shop"},
    keywords="bind, rotate write_token",
)
async def register_workspace(
    call: Call,
    machine: model.MachineOrToolName,
    tool: model.MachineOrToolName,
    project: str,
    rotate: bool = False,
) -> model.RegisteredWorkspace:
    """Register your machine, tool and project as a workspace."""
    await lock_project(call.tx, project, "workspaces")
    existing = await store.find_workspace(call.tx, project, machine, tool, call.caller)
    workspace = existing or await _insert_workspace(call, machine, tool, project)
    store.require_writable(workspace)
    call.subject = workspace.id
    # An uploader asks for the token and is not bound: its agent would write there without having asked for it.
    uploads = call.caller.role == "sync" or rotate
    token = await _issue_token(call, workspace, rotate) if uploads or not call.settings.auth_on else ""
    binds = not uploads or not call.settings.auth_on
    if binds:
        await store.bind_agent(call.tx, workspace, name_writer(call), session_id_of(call), call.now)
    return model.RegisteredWorkspace(
        workspace_id=workspace.id, created=existing is None, bound=binds, write_token=token
    )


async def _insert_workspace(call: Call, machine: str, tool: str, project: str) -> Workspace:
    await ensure_project(call.tx, project, call.now)
    workspace = await store.insert_workspace(call.tx, project, machine, tool, call.caller, call.now)
    call.emit(WORKSPACE_REGISTERED, workspace.address, machine=machine, tool=tool)
    return workspace


async def _issue_token(call: Call, workspace: Workspace, rotate: bool) -> str:
    """Issue a token the first time, and a new one on request, which replaces the old one."""
    if not rotate and await store.has_write_token(call.tx, workspace):
        return ""
    if call.settings.auth_on and call.caller.role != "sync":
        await require_own_token(call, workspace)
    token = store.generate_write_token()
    await store.replace_write_token(call.tx, workspace, token, call.caller.key or call.agent, call.now)
    call.subject += " write token"
    return token


@operation(
    "list_knowledge",
    role="any",
    session="own",
    example={"workspace_id": _EXAMPLE_WORKSPACE_ID},
    keywords="markdown",
)
async def list_knowledge(
    call: Call,
    workspace_id: model.WorkspaceId,
    prefix: model.PathPrefix = "",
    limit: model.PageLines = 200,
    offset: model.Offset = 0,
) -> model.KnowledgeFiles:
    """List the knowledge files of a workspace."""
    workspace = await _load_workspace(call, workspace_id)
    rows, total = await file_store.list_files(call.tx, workspace, prefix, limit, offset)
    return model.KnowledgeFiles(files=[model.KnowledgeFile.from_row(row) for row in rows], total=total)


@operation(
    "read_knowledge",
    role="any",
    session="own",
    example={"workspace_id": _EXAMPLE_WORKSPACE_ID, "path": "notes.md"},
    keywords="markdown",
)
async def read_knowledge(
    call: Call,
    workspace_id: model.WorkspaceId,
    path: model.KnowledgePath,
    version: VersionNumber | None = None,
    offset: Annotated[model.Offset, Field(description="First line, from 0.")] = 0,
    limit: model.PageLines | None = None,
) -> model.KnowledgeText:
    """Read a knowledge file of a workspace."""
    workspace = await _load_workspace(call, workspace_id)
    row = await file_store.load_version_text(call.tx, workspace, path, version)
    max_bytes = DEFAULT_PAGE_BYTES if limit is None else MAX_PAGE_BYTES
    return build_file_page(path, row, offset, limit, max_bytes)


@operation(
    "search_knowledge",
    role="any",
    session="own",
    prepare=prepare_question("query"),
    after_commit=knowledge_search.find_matches,
    example={"query": "idle connections"},
    keywords="grep, markdown, regex, RE2",
)
async def search_knowledge(
    call: Call,
    query: model.SearchQuery,
    workspace_id: model.WorkspaceId | None = None,
    mode: model.SearchMode = "smart",
    case_sensitive: bool = False,
    context: model.ContextLines = 2,
    limit: model.Limit = 20,
) -> knowledge_search.FileScan | knowledge_search.FileRanking:
    """Search the lines of all knowledge files."""
    if workspace_id is None:
        projects = await store.list_visible_projects(call.tx, call.caller)
    else:
        projects = [(await _load_workspace(call, workspace_id)).project]
    if mode == "smart":
        return await knowledge_search.rank_files(call, projects, workspace_id, query, context, limit)
    pattern = Pattern(query, mode, case_sensitive=case_sensitive)
    return await knowledge_search.plan_scan(call, projects, workspace_id, pattern, context, limit)


@operation(
    "write_overview",
    writes=True,
    prepare=knowledge_writes.prepare_overview,
    session="own",
    idempotent=True,
    example={"content": "# Shop on my laptop"},
    verbatim=("content",),
    keywords="update",
)
async def write_overview(
    call: Call, content: model.OverviewText, workspace_id: model.WorkspaceId | None = None
) -> model.OverviewWritten:
    """Replace your workspace's overview page."""
    return await knowledge_writes.write_overview(call, await require_own_workspace(call, workspace_id))


@operation(
    "write_knowledge",
    writes=True,
    prepare=knowledge_writes.prepare_file,
    session="own",
    idempotent=True,
    example={"path": "notes/cart.md", "content": "# Cart\nTotals are in cents."},
    verbatim=("content",),
    keywords="save, edit markdown, wiki page, note",
)
async def write_knowledge(
    call: Call,
    path: Annotated[model.KnowledgePath, Field(description="Such as notes/auth.md.")],
    content: model.FileText,
    base_sha256: Annotated[
        model.Sha256 | None, Field(description="Of what you edited; else conflict.")
    ] = None,
    workspace_id: model.WorkspaceId | None = None,
) -> model.WrittenKnowledge:
    """Write a knowledge file of your workspace."""
    workspace = await require_own_workspace(call, workspace_id)
    written = await knowledge_writes.write_file(call, workspace, path, base_sha256)
    written.workspace_id = workspace.id
    return written


@operation(
    "upload_knowledge",
    role="sync",
    writes=True,
    prepare=knowledge_writes.prepare_file,
    session="own",
    idempotent=True,
    example={"workspace_id": "desk-codex-shop", "write_token": "cwt_none", "path": "a.md", "content": "# A"},
    verbatim=ALL_ARGUMENTS,
)
async def upload_knowledge(
    call: Call,
    workspace_id: model.WorkspaceId,
    write_token: model.WriteToken,
    path: model.KnowledgePath,
    content: model.FileText,
    sha256: model.Sha256 | None = None,
    base_sha256: Annotated[
        model.Sha256 | None, Field(description="Of what you edited; else conflict.")
    ] = None,
) -> model.WrittenKnowledge:
    """Upload a knowledge file with the workspace's write_token."""
    workspace = await require_workspace_of_token(call, workspace_id, write_token)
    return await knowledge_writes.write_file(call, workspace, path, base_sha256, sha256)


@operation(
    "delete_knowledge",
    writes=True,
    session="own",
    destroys=True,
    example={"path": "notes/cart.md"},
    keywords="remove",
)
async def delete_knowledge(
    call: Call, path: model.KnowledgePath, workspace_id: model.WorkspaceId | None = None
) -> model.DeletedKnowledge:
    """Delete a knowledge file of your workspace."""
    workspace = await require_own_workspace(call, workspace_id)
    await file_store.lock_files(call.tx, workspace)
    row = await file_store.find_file(call.tx, workspace, path)
    if row is None or row["deleted"]:
        raise file_not_found(path)
    version = await file_store.delete_file(call.tx, row, name_writer(call), call.now)
    await store.update_workspace_activity(call.tx, workspace, call.now, knowledge=-1)
    call.subject = f"{workspace.id} {path}"
    call.emit(KNOWLEDGE_DELETED, workspace.file_address(path), path=path, version=version)
    return model.DeletedKnowledge(deleted=True, version=version)


@dataclass(frozen=True, slots=True)
class _FileHistory:
    file: Row
    rows: Sequence[Row]
    version: Row | None = None
    previous: Row | None = None


async def _render_history(history: _FileHistory) -> model.FileVersions:
    """Computes the diff in a thread."""
    versions = [model.FileVersion.from_row(row) for row in history.rows]
    reply = model.FileVersions(path=history.file["path"], versions=versions, total=history.file["versions"])
    if history.version is not None:
        diff = await asyncio.to_thread(build_version_diff, history.previous, history.version)
        reply.diff, reply.truncated, reply.note = diff.text, diff.truncated, diff.note
    return reply


@operation(
    "list_versions",
    role="any",
    session="own",
    after_commit=_render_history,
    example={"workspace_id": _EXAMPLE_WORKSPACE_ID},
    keywords="history, page, overview, compare, diff",
)
async def list_versions(
    call: Call,
    workspace_id: model.WorkspaceId,
    path: model.KnowledgePath | None = None,
    version: Annotated[VersionNumber | None, Field(description="Show its changes.")] = None,
    limit: model.Limit = 50,
    offset: model.Offset = 0,
) -> _FileHistory:
    """List the versions of a knowledge file, or show what one changed."""
    workspace = await _load_workspace(call, workspace_id)
    row = await file_store.find_file(call.tx, workspace, path or file_store.OVERVIEW_PATH)
    if row is None:
        raise file_not_found(path or file_store.OVERVIEW_PATH)
    rows = await file_store.list_file_versions(call.tx, row, limit, offset)
    if version is None:
        return _FileHistory(row, rows)
    selected = await file_store.find_file_version(call.tx, row, version)
    if selected is None:
        raise version_not_found()
    return _FileHistory(row, rows, selected, await file_store.find_previous_text(call.tx, row, version))


@operation(
    "restore_version",
    writes=True,
    session="own",
    example={"path": "notes/cart.md"},
    keywords="roll back, earlier",
)
async def restore_version(
    call: Call,
    path: model.KnowledgePath | None = None,
    version: Annotated[VersionNumber | None, Field(description="Default: before the last.")] = None,
    workspace_id: model.WorkspaceId | None = None,
) -> model.RestoredVersion:
    """Restore an older version of your page or a deleted file."""
    workspace = await require_own_workspace(call, workspace_id)
    return await knowledge_writes.restore_text(call, workspace, path or file_store.OVERVIEW_PATH, version)


async def _load_workspace(call: Call, workspace_id: str) -> Workspace:
    workspace = await store.load_workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    return workspace
