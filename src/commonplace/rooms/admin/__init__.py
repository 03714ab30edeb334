"""Keys, the audit trail, and the health of the server."""

from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.rooms.admin import store
from commonplace.rooms.admin.operations import admin, health
from commonplace.store.database import Tx


async def forget_old_audit(tx: Tx, now: int, settings: Settings) -> None:
    await store.delete_expired_audit_rows(tx, now - settings.audit_days * DAY)


TOOLSET = "admin"
OPERATIONS = (admin, health)
SWEEPS = (forget_old_audit,)
