"""`commonplace sync`: upload this machine's transcripts and tracked files to their workspaces on the server.

`sync_run.py` is one run, `transcript_upload.py` sends one transcript, `spool.py` keeps what could not be sent,
`sync_state.py` remembers what was sent. Where each agent keeps its transcripts is in `client/agents/`.
"""
