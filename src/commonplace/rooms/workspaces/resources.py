"""Resources workspace://{workspace_id}/{path} (a knowledge file) and workspace://{workspace_id} (an overview)."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.workspaces import file_store, model, store
from commonplace.rooms.workspaces.file_page import build_file_page


@operation("resource:workspace_file", role="any", session=False)
async def read_knowledge_file(
    call: Call, workspace_id: model.WorkspaceId, path: model.KnowledgePath
) -> model.KnowledgeText:
    """A complete knowledge file."""
    workspace = await store.load_workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    return build_file_page(path, await file_store.load_version_text(call.tx, workspace, path, None))


@operation("resource:workspace", role="any", session=False)
async def read_workspace(call: Call, workspace_id: model.WorkspaceId) -> model.WorkspaceOverview:
    """A workspace with its overview."""
    workspace = await store.load_workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    page = await file_store.load_overview_text(call.tx, workspace)
    return model.WorkspaceOverview(readme=page, workspaces=[model.ListedWorkspace.from_workspace(workspace)])


FILE = Resource("workspace://{workspace_id}/{path}", "A knowledge file of a workspace", read_knowledge_file)
WORKSPACE = Resource("workspace://{workspace_id}", "A workspace and its overview", read_workspace)
