"""The command line: the parser, and the commands that can open the store themselves.

Commands that only talk to a server are in `client/commands/`.
"""
