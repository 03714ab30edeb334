"""Databases of the operator that agents may read, and nothing more than read."""

from commonplace.room import Room
from commonplace.rooms.databases.operations import db

ROOM = Room(
    name="databases",
    purpose=__doc__,
    toolset="code",
    operations=(db,),
)
