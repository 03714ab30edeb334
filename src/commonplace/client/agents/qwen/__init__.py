"""Qwen Code.

- Only its transcripts are read: `connect` and `install` do not know it.
- A chat is a file that grows; a rewind is a record that continues from before the prompt that was taken back.
- Sub-agents write files of their own in `subagents/`.
"""
