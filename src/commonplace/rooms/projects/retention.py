"""Retention of events. A follower that was away for longer reads the state itself."""

from commonplace import events
from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.store.database import Tx


async def delete_old_events(tx: Tx, now: int, settings: Settings) -> None:
    await events.delete_events_before(tx, now - settings.event_days * DAY)
