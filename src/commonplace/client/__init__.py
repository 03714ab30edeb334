"""Programs that run on the machines of agents, as clients of the server: hooks, proxy, sync, install, guard.

Nothing here opens a store; commands that do are in `cli/`. `remote.py` finds the server and calls operations.
"""
