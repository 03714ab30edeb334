"""Leases on files, parts of files and directories, so that agents do not overwrite each other's edits."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.locks.boot import LOCK_WAITS_SECTION, RELEVANT_LOCKS_SECTION, YOUR_LOCKS_SECTION
from commonplace.rooms.locks.events import FILES_LOCKED, FILES_RELEASED, LEASE_TAKEN_OVER
from commonplace.rooms.locks.operations import get_locks, lock_files, unlock_files
from commonplace.rooms.locks.releases import release_lock, return_lock
from commonplace.rooms.locks.reservations import OFFER_TO_WAITERS
from commonplace.rooms.locks.resources import LOCKS, list_locks
from commonplace.rooms.locks.retention import EXPIRED_WAITERS, LAPSED_LEASES
from commonplace.rooms.locks.store import RENEW_LEASES

ROOM = Room(
    name="locks",
    purpose=__doc__,
    toolset="work",
    operations=(lock_files, unlock_files, get_locks),
    program_operations=(list_locks, release_lock, return_lock),
    boot_sections=(YOUR_LOCKS_SECTION, LOCK_WAITS_SECTION, RELEVANT_LOCKS_SECTION),
    retention=(LAPSED_LEASES, EXPIRED_WAITERS),
    resources=(LOCKS,),
    on_activity=(RENEW_LEASES, OFFER_TO_WAITERS),
    events=(FILES_LOCKED, FILES_RELEASED, LEASE_TAKEN_OVER),
    agent_columns=declare_agent_columns(
        session=("lease.agent", "lock_waiter.agent"),
    ),
)
