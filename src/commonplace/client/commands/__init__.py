"""The commands that are clients of a server, one module a command."""
