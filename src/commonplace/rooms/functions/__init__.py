"""What functions the project has: found before one is written twice, kept true by the librarian."""

from commonplace.rooms.functions.offers import finders, forget_gone
from commonplace.rooms.functions.operations import (
    become_librarian,
    enrich_function,
    find_function,
    get_enrichment_queue,
    list_functions,
    register_function,
    sync_functions,
)
from commonplace.rooms.functions.store import SOURCE

TOOLSET = "code"
OPERATIONS = (
    register_function,
    find_function,
    enrich_function,
    get_enrichment_queue,
    become_librarian,
)
PROGRAMS = (list_functions, sync_functions)
FINDERS = finders
SEARCHED = (SOURCE,)
SWEEPS = (forget_gone,)
