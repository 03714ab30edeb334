"""The resources memory://{doc_id}, one document, and knowledge://{project}, the newest documents of a project."""

from commonplace import errors
from commonplace.access import SHARED
from commonplace.call import Call
from commonplace.operation import Reply, operation
from commonplace.project import list_all_project_names
from commonplace.resource import Resource
from commonplace.rooms.knowledge import model, recent_documents
from commonplace.rooms.knowledge.finders import find_document
from commonplace.rooms.knowledge.recall import note_shown_documents
from commonplace.store import ids

_MAX_LISTED = 50


class DocumentTitle(Reply):
    id: str
    title: str
    type: str


class DocumentListing(Reply):
    documents: list[DocumentTitle]


@operation("resource:memory", role="readonly", session=False)
async def read_document(call: Call, doc_id: model.DocumentId) -> model.StoredItem:
    """A document of any project that the caller sees, or of shared knowledge."""
    visible = [name for name in await list_all_project_names(call.tx) if call.caller.sees_project(name)]
    where = await ids.find_ids_by_prefix(call.tx, "document", list({*visible, SHARED}), doc_id)
    document = await find_document(call, *where[0]) if where else None
    if document is None:
        raise errors.NotFound(f"There is no document '{doc_id}'.")
    call.project = document["project"]
    note_shown_documents(call, [(call.project, document["id"])], opened=True)
    fields = {name: document[name] for name in model.StoredItem.__struct_fields__ if name in document}
    return model.StoredItem(found=True, **fields)


@operation("resource:knowledge", role="readonly", session=False)
async def read_knowledge(call: Call, project: str) -> DocumentListing:
    """The newest active documents of the project."""
    rows = await recent_documents.list_newest_documents(call.tx, project, call.now, _MAX_LISTED)
    return DocumentListing(
        documents=[DocumentTitle(id=row["id"], title=row["title"], type=row["type"]) for row in rows]
    )


DOCUMENT = Resource(
    "memory://{doc_id}",
    "A document of the team's memory",
    read_document,
    full_ids=lambda reply: {"doc_id": reply.id},
)
KNOWLEDGE = Resource("knowledge://{project}", "The newest documents of a project", read_knowledge)
