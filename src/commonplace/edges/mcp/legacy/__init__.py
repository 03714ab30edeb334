"""MCP 2025-11-25 and older, the era of `initialize`.

legacy_server.py    the methods of this era
legacy_sessions.py  sessions as signed tokens, and what a process remembers of the live ones
legacy_http.py      POST, GET and DELETE with `Mcp-Session-Id`
questions.py        what the server asks a client while it serves one of its requests
"""
