"""The thin proxy: an agent's standard input and output, passed through to the one server of this machine.

It starts with every agent, so it imports nothing but the standard library, and of that little: threads and plain
sockets are there in a few milliseconds, asyncio and http.client take ten times as long to import.
"""
