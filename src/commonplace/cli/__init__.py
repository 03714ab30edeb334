"""The command line: the parser and the commands that can open the store themselves; `client/commands/` has the others."""
