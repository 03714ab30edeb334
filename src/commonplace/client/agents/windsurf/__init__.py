"""Windsurf.

- Servers cannot be set per project.
- Hooks cannot add context. They deny an edit by their exit code.
- There is no event at the start or end of a session.
"""
