"""Pi, and Oh My Pi, which writes the same files.

- Only its transcripts are read: `connect` and `install` do not know it.
- A session is a file that grows; a branch of the conversation is told by `parentId`.
"""
