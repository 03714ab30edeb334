"""Checkouts: which sessions share a working tree or repository, whose changes it holds, and what was prevented there."""

from commonplace.room import Room
from commonplace.rooms.checkouts.contributes import CHECKOUTS, ENDED_CHECKOUTS, EVENTS
from commonplace.rooms.checkouts.operations import checkout_status, report_checkout, report_prevented

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
