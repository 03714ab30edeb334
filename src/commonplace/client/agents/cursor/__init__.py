"""Cursor.

- Only the start of a session takes context.
- An edit that was made cannot be denied, so leases are checked before the tool runs.
- `permission: allow` would skip the user's own rules, so hooks never send it.
"""
