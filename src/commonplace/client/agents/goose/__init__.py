"""Goose.

- Only its transcripts are read: `connect` and `install` do not know it.
- Sessions are in a SQLite database, which `commonplace sync` only reads; each is exported to a file before it is sent.
  Before version 1.10 each session was a file, which is sent as it is unless the database has the session too.
- A compaction writes all messages of a session anew, so a message is known by its words and its time.
"""
