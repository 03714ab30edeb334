"""`commonplace stdio`: passes MCP messages between an agent's standard streams and the server of this machine.

`relay.py` reads lines and writes answers, `upstream.py` sends them to the server, `server_location.py` finds the server or
starts it. It starts with every agent, so it uses threads and plain sockets: asyncio and http.client take ten times as
long to import.
"""
