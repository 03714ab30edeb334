"""The journal of a session: one deterministic record of what a person asked and an agent did, made from hook events and
transcripts without a model; and what is told from it without anybody calling a tool.
"""
