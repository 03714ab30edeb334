"""Adds the server and hooks to the settings of agents, and removes exactly what was added.

An agent's `settings.py` says which `setting_edits` it needs, `changes.py` plans and applies them, `documents.py` edits
JSON and TOML in place, and `install_record.py` remembers how to undo each edit.
"""
