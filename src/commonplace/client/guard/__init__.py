"""Refuse commits of files that another agent has leased. `commands/guard.py` installs the check in a repository."""
