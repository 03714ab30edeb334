"""The reply of get_overview: a page of text and as many workspaces as fit into the caller's token budget."""

import msgspec

from commonplace.rooms.workspaces.json_size import json_bytes, truncate_to_json_bytes
from commonplace.rooms.workspaces.model import ListedWorkspace, WorkspaceOverview

README = (
    "A workspace belongs to one tool on one machine working on a project. Everyone who can see the project can read it;"
    " only its own agent writes it. Read one with get_overview(workspace_id), its files with list_knowledge and"
    " read_knowledge, its transcripts with list_sessions and read_session; search all with search_knowledge and"
    " search_sessions. To write, call register_workspace once, then write_overview and write_knowledge."
)
_BYTES_PER_TOKEN = 4
_REPLY_OVERHEAD_BYTES = 120


def build_overview(readme: str, workspaces: list[ListedWorkspace], max_tokens: int) -> WorkspaceOverview:
    """As many workspaces as fit; the text is truncated only if it does not fit next to the first of them."""
    left = max_tokens * _BYTES_PER_TOKEN - _REPLY_OVERHEAD_BYTES
    rows = [*(_truncate_summary(workspace, left) for workspace in workspaces[:1]), *workspaces[1:]]
    page, truncated = truncate_to_json_bytes(readme, left - sum(_row_bytes(row) for row in rows[:1]))
    left -= json_bytes(page)
    fitting: list[ListedWorkspace] = []
    for row in rows:
        left -= _row_bytes(row)
        if left < 0:
            break
        fitting.append(row)
    omitted = len(workspaces) - len(fitting)
    return WorkspaceOverview(readme=page, workspaces=fitting, omitted=omitted, truncated=truncated)


def _row_bytes(row: ListedWorkspace) -> int:
    """Including the comma after it."""
    return json_bytes(row) + 1


def _truncate_summary(row: ListedWorkspace, max_bytes: int) -> ListedWorkspace:
    """Shorten the summary until the row fits next to an empty page."""
    excess = _row_bytes(row) + json_bytes("") - max_bytes
    if excess <= 0:
        return row
    summary, _ = truncate_to_json_bytes(row.summary, json_bytes(row.summary) - excess)
    return msgspec.structs.replace(row, summary=summary)
