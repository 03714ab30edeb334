"""Retention of events. A follower that was away for longer reads the state itself; their numbers are not used again."""

from commonplace.retention import delete_from_table

OLD_EVENTS = delete_from_table("event", kind="events", key=("n",), setting="event_days")
