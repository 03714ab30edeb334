"""Checkouts: which sessions share a working tree or repository, whose changes it holds, and what was prevented there."""

from commonplace.room import Room
from commonplace.rooms.checkouts.events import EVENTS
from commonplace.rooms.checkouts.operations import checkout_status, report_checkout, report_prevented
from commonplace.rooms.checkouts.resources import CHECKOUTS
from commonplace.rooms.checkouts.retention import ENDED_CHECKOUTS

ROOM = Room(
    name="checkouts",
    purpose=__doc__,
    toolset="work",
    operations=(checkout_status,),
    program_operations=(report_checkout, report_prevented),
    retention=(ENDED_CHECKOUTS,),
    resources=(CHECKOUTS,),
    events=tuple(dict.fromkeys(EVENTS.values())),
)
