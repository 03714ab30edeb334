"""Events of this room. Each concerns the list of documents and the documents that it names."""

from commonplace.events import EventType
from commonplace.rooms.knowledge.resources import DOCUMENT, KNOWLEDGE

DOCUMENT_STORED = EventType("DocumentStored", KNOWLEDGE, item_resource=DOCUMENT)
DOCUMENT_CHANGED = EventType("DocumentChanged", KNOWLEDGE, item_resource=DOCUMENT)
DOCUMENTS_CHANGED = EventType("DocumentsChanged", KNOWLEDGE, item_resource=DOCUMENT)
