"""Databases of the operator, which agents can query but not change."""

from commonplace.room import Room
from commonplace.rooms.databases.operations import db

ROOM = Room(
    name="databases",
    purpose=__doc__,
    toolset="code",
    operations=(db,),
)
