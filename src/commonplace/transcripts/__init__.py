"""Transcripts of coding agents, read late and defensively: who said what, and what the session teaches.

Nothing here knows a store. Formats are their vendors' own and change without notice, so a line that is not
understood is counted and left out, and every state carries the version of the parser that made it.
"""
