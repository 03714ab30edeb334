"""Gemini CLI.

- One file holds servers and hooks. Timeouts are in milliseconds.
- After a compaction `BeforeAgent` is the first event that can add context, so that hook is always installed.
"""
