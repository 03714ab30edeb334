"""Documents and learnings of a team: versions, evidence, and search."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.knowledge.boot import INTERFACE_UPDATES_SECTION, LEARNINGS_SECTION, PATTERNS_SECTION
from commonplace.rooms.knowledge.citations import list_citations, list_evidence, report_citations
from commonplace.rooms.knowledge.connector import fetch_for_connector, search_for_connector
from commonplace.rooms.knowledge.events import DOCUMENT_CHANGED, DOCUMENT_STORED, DOCUMENTS_CHANGED
from commonplace.rooms.knowledge.finders import FINDERS
from commonplace.rooms.knowledge.hashed_rows import HASHED_DOCUMENTS, HASHED_VERSIONS
from commonplace.rooms.knowledge.listing import list_documents
from commonplace.rooms.knowledge.operations import (
    archive_by_tag,
    change_status,
    get_by_id,
    query,
    record_learning,
    restore_by_tag,
    search_global,
    store_document,
)
from commonplace.rooms.knowledge.renames import move_handoffs
from commonplace.rooms.knowledge.resources import DOCUMENT, KNOWLEDGE
from commonplace.rooms.knowledge.retention import EXPIRED_DOCUMENTS, SERVED_DOCUMENTS
from commonplace.rooms.knowledge.search import SEARCH_SOURCE

ROOM = Room(
    name="knowledge",
    purpose=__doc__,
    toolset="knowledge",
    operations=(
        query,
        get_by_id,
        store_document,
        record_learning,
        search_global,
        change_status,
        archive_by_tag,
        restore_by_tag,
    ),
    program_operations=(
        list_documents,
        list_citations,
        list_evidence,
        report_citations,
        search_for_connector,
        fetch_for_connector,
    ),
    toolsets_on_request={"chatgpt": ("search", "fetch")},
    boot_sections=(LEARNINGS_SECTION, PATTERNS_SECTION, INTERFACE_UPDATES_SECTION),
    retention=(EXPIRED_DOCUMENTS, SERVED_DOCUMENTS),
    resources=(DOCUMENT, KNOWLEDGE),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(DOCUMENT_STORED, DOCUMENT_CHANGED, DOCUMENTS_CHANGED),
    agent_columns=declare_agent_columns(
        room=("document.author",),
        never=("document.interface_owner", "document_version.author"),
    ),
    on_rename=(move_handoffs,),
    hashed_tables=(HASHED_DOCUMENTS, HASHED_VERSIONS),
)
