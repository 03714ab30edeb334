"""What waits for a person: permissions, questions and plans of agents, and the answers that people give."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.requests.contributes import (
    ASKED_SECTION,
    FINDERS,
    OLD_REQUESTS,
    REQUEST_ANSWERED,
    REQUEST_CLOSED,
    REQUEST_OPENED,
    REQUESTS,
    SEARCH_SOURCE,
    rename_asker,
)
from commonplace.rooms.requests.operations import (
    answer_request,
    ask_person,
    close_requests,
    list_requests,
    report_request,
    wait_for_answer,
)

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
