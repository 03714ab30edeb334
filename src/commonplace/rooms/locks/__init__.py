"""Leases on files, parts of files and directories, so that agents do not overwrite each other's edits."""

from commonplace.agent_names import declare_agent_columns
from commonplace.room import Room
from commonplace.rooms.locks.contributes import (
    EXPIRED_WAITERS,
    FILES_LOCKED,
    FILES_RELEASED,
    LAPSED_LEASES,
    LEASE_TAKEN_OVER,
    LOCK_WAITS_SECTION,
    LOCKS,
    RELEVANT_LOCKS_SECTION,
    YOUR_LOCKS_SECTION,
    list_locks,
)
from commonplace.rooms.locks.operations import get_locks, lock_files, release_lock, return_lock, unlock_files
from commonplace.rooms.locks.store import RENEW_LEASES
from commonplace.rooms.locks.waiting import TELL_WAITERS

ROOM = Room(
    name="locks",
    purpose=__doc__,
    toolset="work",
    operations=(lock_files, unlock_files, get_locks),
    program_operations=(list_locks, release_lock, return_lock),
    boot_sections=(YOUR_LOCKS_SECTION, LOCK_WAITS_SECTION, RELEVANT_LOCKS_SECTION),
    retention=(LAPSED_LEASES, EXPIRED_WAITERS),
    resources=(LOCKS,),
    on_activity=(RENEW_LEASES, TELL_WAITERS),
    events=(FILES_LOCKED, FILES_RELEASED, LEASE_TAKEN_OVER),
    agent_columns=declare_agent_columns(
        session=("lease.agent", "lock_waiter.agent"),
    ),
)
