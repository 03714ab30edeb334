"""The bytes of archived sessions: packed in frames, hashed, studied, shown as pages, scanned line by line.

Nothing here knows a database or a call: stored frames come in through `SessionBytes`. Parsing of the transcripts
themselves is in `transcripts`; tables, access and the operations are in `rooms/archives`.
"""
