"""The commands at the agents' side: their flags and their help."""

from commonplace.edges.cli.command import Commands


def add(commands: Commands) -> None:
    """Every command that runs beside an agent, in the order of --help."""
    del commands
