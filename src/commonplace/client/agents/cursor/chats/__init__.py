"""Chats that Cursor keeps only in its database: read in `chat_database.py`, exported to files in `chat_exports.py`."""
