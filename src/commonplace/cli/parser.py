"""The parser of the command line: the tables of commands, by purpose."""

import argparse

from commonplace.cli import agent_commands, people_commands, server_commands
from commonplace.cli.command import Command, CommandParser, add_command

_DESCRIPTION = "Shared memory and coordination for teams of AI coding agents, over MCP."
_EPILOG = """first steps:
  commonplace up                            start, connect the agents found here, show a first answer
  commonplace serve                         start the server; prints how to connect each agent
  commonplace connect claude                connect an agent; `install` adds hooks and transcripts
  commonplace open                          open the web page: who needs you, what happens
  commonplace who                           show who works on what
  commonplace key create --name ann --role owner   make the first key, then: serve --auth on
"""
COMMAND_GROUPS: dict[str, tuple[Command, ...]] = {
    "run the server": server_commands.RUN_THE_SERVER,
    "back up and move": server_commands.BACK_UP_AND_MOVE,
    "connect agents": agent_commands.CONNECT_AGENTS,
    "ask the server": people_commands.ASK_THE_SERVER,
    "transcripts and code": people_commands.TRANSCRIPTS_AND_CODE,
    "what agents run": agent_commands.WHAT_AGENTS_RUN,
    "texts for your shell": agent_commands.TEXTS_FOR_YOUR_SHELL,
}
COMMANDS = tuple(command for group in COMMAND_GROUPS.values() for command in group)


def build_parser() -> argparse.ArgumentParser:
    top = CommandParser(
        "commonplace",
        usage="commonplace [-h] [--version] COMMAND ...",
        description=_DESCRIPTION,
        epilog=f"{_render_groups()}\n{_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=_version_text())
    parsers = top.add_subparsers(
        prog="commonplace",
        metavar="COMMAND",
        required=True,
        help=argparse.SUPPRESS,
        parser_class=CommandParser,
    )
    for command in COMMANDS:
        add_command(parsers, command)
    parsers._choices_actions = []  # noqa: SLF001 - argparse could only list them all in one group
    return top


def _render_groups() -> str:
    return "\n".join(
        f"{title}:\n" + "".join(f"  {command.name:14}{command.help}\n" for command in commands)
        for title, commands in COMMAND_GROUPS.items()
    )


def _version_text() -> str:
    from commonplace import __version__  # only --version needs it

    return f"commonplace {__version__}"
