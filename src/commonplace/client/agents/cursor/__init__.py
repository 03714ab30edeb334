"""Cursor.

- Only the event at the start of a session accepts context.
- The event after an edit cannot deny it, so leases are checked before the tool runs.
- `permission: allow` would skip the user's own rules, so hooks never send it.
- Transcripts of its agents have no results of tools, and no times but those of prompts.
- Chats of which it writes no transcript, as in older versions, are in its database `state.vscdb`, which `commonplace sync`
  only reads; each is exported to a file before it is sent.
"""
