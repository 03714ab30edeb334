"""Who works on what, where they meet, who waits for whom, and the signals between them."""

from commonplace.rooms.work.boot import BLOCKING_OTHERS, RECENT_MODIFICATIONS, SIGNALS
from commonplace.rooms.work.operations import get_active_work, update_work
from commonplace.rooms.work.store import delete_expired_work

TOOLSET = "work"
OPERATIONS = (update_work, get_active_work)
BOOT_SECTIONS = (RECENT_MODIFICATIONS, SIGNALS, BLOCKING_OTHERS)
SWEEPS = (delete_expired_work,)
