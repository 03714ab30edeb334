"""The git gate: what a shell command of an agent would do to the work of others in the same checkout.

`shell_parser.py` reads command lines, `git_command.py` and `file_writes.py` say what a command does, `checkout.py` has
the facts, `gate.py` decides. `rescue.py` and `shelves.py` keep changes as commits that no branch contains.
"""
