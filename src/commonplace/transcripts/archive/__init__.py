"""The bytes of archived sessions: packed in frames, hashed, studied, shown as pages, scanned line by line.

Nothing here knows a database or a call: stored frames come in through `SessionBytes`. Tables, access and the operations
are in `rooms/archives`. Only the server imports this folder.
"""
