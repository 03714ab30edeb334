"""A folder of Markdown that is kept in step with the documents of a project, in both directions.

`vault_file.py` reads and writes a file with its front matter, `vault_folder.py` finds files and remembers which there
were, `vault_sync.py` compares both sides and carries changes over.
"""
