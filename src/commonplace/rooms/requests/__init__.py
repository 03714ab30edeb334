"""What waits for a person: permissions, questions and plans of agents, and the answers that people give."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.requests.asking import ask_person
from commonplace.rooms.requests.boot import ASKED_SECTION
from commonplace.rooms.requests.events import REQUEST_ANSWERED, REQUEST_CLOSED, REQUEST_OPENED
from commonplace.rooms.requests.finders import FINDERS
from commonplace.rooms.requests.operations import (
    answer_request,
    close_requests,
    list_requests,
    report_request,
    wait_for_answer,
)
from commonplace.rooms.requests.renames import rename_asker
from commonplace.rooms.requests.resources import REQUESTS
from commonplace.rooms.requests.retention import OLD_REQUESTS
from commonplace.rooms.requests.search import SEARCH_SOURCE

ROOM = Room(
    name="requests",
    purpose=__doc__,
    toolset="work",
    operations=(ask_person,),
    program_operations=(report_request, wait_for_answer, close_requests, list_requests, answer_request),
    boot_sections=(ASKED_SECTION,),
    retention=(OLD_REQUESTS,),
    resources=(REQUESTS,),
    finders=FINDERS,
    search_sources=(SEARCH_SOURCE,),
    events=(REQUEST_OPENED, REQUEST_ANSWERED, REQUEST_CLOSED),
    agent_columns=declare_agent_columns(
        room=("person_request.agent",),
        never=("person_request.answered_by", "person_request.subagent"),
    ),
    on_rename=(rename_asker,),
)
