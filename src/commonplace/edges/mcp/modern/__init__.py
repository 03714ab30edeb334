"""MCP 2026-07-28, the stateless era: modern_server.py answers, modern_http.py checks headers and speaks HTTP."""
