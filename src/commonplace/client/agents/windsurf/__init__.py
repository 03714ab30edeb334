"""Windsurf.

- There is no file for the servers of a project.
- Hooks add no context, and deny an edit with their exit code alone.
- Neither the start nor the end of a session has an event.
"""
