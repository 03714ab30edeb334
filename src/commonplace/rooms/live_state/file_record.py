"""What is known of one file: who holds it, who changed it, which documents cite it, what was prevented there.

The page shows it beside the functions of the file. Functions are listed by the functions room, transcripts are searched.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from commonplace.call import Call
from commonplace.clock import DAY, iso
from commonplace.operation import Reply, operation
from commonplace.rooms.live_state import model, store
from commonplace.store.database import Row, Tx

FilePath = Annotated[
    str,
    Field(
        min_length=1, max_length=1024, description="The file's path in the workspace, such as notes/auth.md."
    ),
]
_MAX_ROWS = 50
_PREVENTED_DAYS = 7


class FileChange(Reply):
    agent: str
    at: str
    task: str = ""
    branch: str = ""


class CitingDocument(Reply):
    id: str
    title: str
    type: str
    status: str
    place: str
    state: str


class FileRecord(Reply):
    """Each list is newest first."""

    path: str
    held: list[model.TouchedFile]
    changed: list[FileChange]
    documents: list[CitingDocument]
    prevented: list[model.Prevented]


@operation(
    "memory_get_file_record",
    role="readonly",
    session="optional",
    example={"project": "shop", "path": "src/tax.py"},
)
async def get_file_record(call: Call, project: str, path: FilePath) -> FileRecord:
    """What is known of a file: who holds it, who changed it, which documents cite it, and what was prevented there."""
    del project
    leases = await store.list_leases(call.tx, [call.project], call.now)
    refusals = await store.list_prevented(call.tx, [call.project], call.now - _PREVENTED_DAYS * DAY)
    prevented = [row for row in model.build_prevented_list(refusals) if path in row.detail]
    return FileRecord(
        path=path,
        held=[held for row in leases if (held := model.build_held_file(row)).path == path],
        changed=[
            FileChange(
                agent=row["agent"], at=iso(row["at"]), task=row["task"] or "", branch=row["branch"] or ""
            )
            for row in await _list_changes(call.tx, call.project, path)
        ],
        documents=[
            CitingDocument(**row) for row in await _list_citing_documents(call.tx, call.project, path)
        ],
        prevented=prevented[:_MAX_ROWS],
    )


async def _list_changes(tx: Tx, project: str, path: str) -> Sequence[Row]:
    return await tx.all(
        "select touched.agent, touched.at, session.task, session.branch from touched"
        " left join session on session.project = touched.project and session.id = touched.session"
        " where touched.project = $1 and touched.path = $2 order by touched.at desc, touched.session limit $3",
        project,
        path,
        _MAX_ROWS,
    )


async def _list_citing_documents(tx: Tx, project: str, path: str) -> Sequence[Row]:
    return await tx.all(
        "select document.id, document.title, document.type, document.status, citation.place, citation.state"
        " from citation join document on document.project = citation.project and document.id = citation.document"
        " where citation.project = $1 and citation.path = $2 order by document.changed_at desc, citation.place limit $3",
        project,
        path,
        _MAX_ROWS,
    )
