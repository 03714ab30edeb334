"""A registry of the project's functions, so that none is written twice; the librarian keeps it current."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.functions.browsing import browse_functions, list_similar_functions
from commonplace.rooms.functions.events import FUNCTION_ENRICHED, FUNCTION_REGISTERED, FUNCTIONS_SYNCED
from commonplace.rooms.functions.finders import FINDERS
from commonplace.rooms.functions.operations import (
    become_librarian,
    enrich_function,
    find_function,
    get_enrichment_queue,
    list_functions,
    register_function,
    sync_functions,
)
from commonplace.rooms.functions.resources import FUNCTIONS
from commonplace.rooms.functions.retention import GONE_FUNCTIONS
from commonplace.rooms.functions.search import SEARCH_SOURCE

ROOM = Room(
    name="functions",
    purpose=__doc__,
    toolset="code",
    operations=(register_function, find_function, enrich_function, get_enrichment_queue, become_librarian),
    program_operations=(browse_functions, list_similar_functions, list_functions, sync_functions),
    retention=(GONE_FUNCTIONS,),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(FUNCTION_REGISTERED, FUNCTION_ENRICHED, FUNCTIONS_SYNCED),
    resources=(FUNCTIONS,),
    agent_columns=declare_agent_columns(
        never=("function.described_by", "function.enriched_by", "function_text.described_by"),
    ),
)
