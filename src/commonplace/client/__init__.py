"""What runs beside agents: clients of the server. Nothing here opens a store; see `cli/` for commands that do."""
