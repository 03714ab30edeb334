"""Parse transcripts of coding agents: messages, tool calls, commands, errors and commits.

Nothing here uses a store. Vendors change their formats without notice, so an unknown line is counted and skipped, and
every saved state has the version of the parsers that made it. The formats of agent programs are in
`client/agents/<agent>/transcript_format.py`; `archive/` stores and shows what is parsed.
"""
