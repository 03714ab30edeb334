"""Backups and exports: every row of a store in one documented, portable format, and the way back.

`docs/guides/backup.md` describes the format. `dump.py` writes it from a snapshot of either store, `load.py` reads it
into either store, `inspection.py` checks a file without a store, `replace.py` puts a restored store in the place of
another one.
"""
