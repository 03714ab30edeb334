"""Documents and learnings of a team: versions, evidence, and search."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.knowledge.connector import fetch_for_connector, search_for_connector
from commonplace.rooms.knowledge.contributes import (
    DOCUMENT,
    DOCUMENT_CHANGED,
    DOCUMENT_STORED,
    DOCUMENTS_CHANGED,
    EXPIRED_DOCUMENTS,
    FINDERS,
    INTERFACE_UPDATES_SECTION,
    KNOWLEDGE,
    LEARNINGS_SECTION,
    PATTERNS_SECTION,
    SEARCH_SOURCE,
    SERVED_DOCUMENTS,
    move_handoffs,
)
from commonplace.rooms.knowledge.evidence import list_citations, list_evidence, report_citations
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
from commonplace.rooms.knowledge.store import HASHED_DOCUMENTS, HASHED_VERSIONS

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
