"""Leases on files and directories, so that agents do not edit over each other."""

from commonplace.rooms.locks.boot import RELEVANT_LOCKS
from commonplace.rooms.locks.operations import get_locks, lock_files, unlock_files
from commonplace.rooms.locks.resources import LOCKS
from commonplace.rooms.locks.store import delete_expired_leases, renew_leases_on_activity

TOOLSET = "work"
OPERATIONS = (lock_files, unlock_files, get_locks)
BOOT_SECTIONS = (RELEVANT_LOCKS,)
ON_ACTIVITY = (renew_leases_on_activity,)
SWEEPS = (delete_expired_leases,)
RESOURCES = (LOCKS,)
