"""The connection keeper: one process per user that holds connections to remote servers open for hooks.

A connection with TLS costs a hook three round trips before its first call. The keeper holds none of the user's keys: a
hook sends it the whole request over a Unix socket that only this user can open (`keeper_client.py`), and the keeper sends
it on over a warm connection (`keeper_process.py`). Without it, hooks connect themselves. Decision 0014 has the figures.
"""
