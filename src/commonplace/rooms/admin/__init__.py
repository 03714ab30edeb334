"""Keys, the audit trail, and the health of the server."""

from commonplace.room import Room
from commonplace.rooms.admin.operations import admin, health
from commonplace.rooms.admin.retention import delete_old_audit_rows

ROOM = Room(
    name="admin",
    purpose=__doc__,
    toolset="admin",
    operations=(admin, health),
    retention=(delete_old_audit_rows,),
)
