"""Journals: what each session was asked and did, and what the next one is told of it."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.journals.contributes import FINDERS, JOURNAL_RULES, RESUME_SECTION, SEARCH_SOURCES
from commonplace.rooms.journals.operations import record_events, resume_work

ROOM = Room(
    name="journals",
    purpose=__doc__,
    toolset="work",
    operations=(resume_work,),
    program_operations=(record_events,),
    boot_sections=(RESUME_SECTION,),
    retention=JOURNAL_RULES,
    finders=FINDERS,
    search_sources=SEARCH_SOURCES,
    agent_columns=declare_agent_columns(session=("journal.agent",), never=("journal_fact.agent",)),
)
