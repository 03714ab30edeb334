"""Gemini CLI.

- One file holds servers and hooks. Timeouts are in milliseconds.
- `PreCompress` runs before every model request, so a compaction is recognised by the summary in the transcript.
- After a compaction `BeforeAgent` is the first event that can add context, so that hook is always installed.
"""
