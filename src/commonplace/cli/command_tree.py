"""The commands of the parser as plain values, for shell completion and the manual page."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class CommandFlag:
    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]
    metavar: str
    """Empty if the flag takes no value."""


@dataclass(frozen=True)
class CommandNode:
    path: tuple[str, ...]
    help: str
    description: str
    usage: str
    flags: tuple[CommandFlag, ...]
    children: tuple["CommandNode", ...]

    def walk(self) -> Iterator["CommandNode"]:
        yield self
        for child in self.children:
            yield from child.walk()


def read_commands(parser: argparse.ArgumentParser) -> CommandNode:
    return _read_node(parser, (), parser.description or "")


def _read_node(parser: argparse.ArgumentParser, path: tuple[str, ...], summary: str) -> CommandNode:
    children = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to its actions
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - the same
            children += [
                _read_node(child, (*path, name), summaries.get(name) or _first_line(child))
                for name, child in action.choices.items()
            ]
    return CommandNode(
        path=path,
        help=summary,
        description=parser.description or summary,
        usage=" ".join(parser.format_usage().removeprefix("usage: ").split()),
        flags=tuple(_list_flags(parser)),
        children=tuple(children),
    )


def _first_line(parser: argparse.ArgumentParser) -> str:
    return (parser.description or "").partition("\n")[0]


def _list_flags(parser: argparse.ArgumentParser) -> Iterator[CommandFlag]:
    for action in parser._actions:  # noqa: SLF001 - as above
        if action.option_strings and action.help != argparse.SUPPRESS:
            takes_value = action.nargs != 0
            yield CommandFlag(
                tuple(action.option_strings),
                (action.help or "").replace("%%", "%"),
                tuple(str(choice) for choice in action.choices or ()),
                str(action.metavar or action.dest.upper()) if takes_value else "",
            )
