"""What a team knows: documents and learnings with versions, evidence and a way to find them."""

from commonplace.rooms.knowledge.offers import finders, forget_expired, interface_updates, learnings, patterns
from commonplace.rooms.knowledge.operations import (
    archive_by_tag,
    change_status,
    get_by_id,
    list_citations,
    query,
    record_learning,
    report_citations,
    restore_by_tag,
    search_global,
    store_document,
)
from commonplace.rooms.knowledge.resources import DOCUMENT
from commonplace.rooms.knowledge.store import SOURCE

TOOLSET = "knowledge"
OPERATIONS = (
    query,
    get_by_id,
    store_document,
    record_learning,
    search_global,
    change_status,
    archive_by_tag,
    restore_by_tag,
)
PROGRAMS = (list_citations, report_citations)
BOOT_SECTIONS = (learnings, patterns, interface_updates)
FINDERS = finders
SEARCHED = (SOURCE,)
SWEEPS = (forget_expired,)
RESOURCES = (DOCUMENT,)
