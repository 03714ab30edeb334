"""What a command is: a plain value with its flags, its help and the function that runs it.

`server_commands.py`, `people_commands.py` and `agent_commands.py` list them; the parser, shell completion and the manual
page read these lists. A command is imported only when it runs, so that --help is instant.
"""

import argparse
import importlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

CommandParsers: TypeAlias = "argparse._SubParsersAction[CommandParser]"  # noqa: SLF001 - argparse has no public name for it


class Flag:
    """An argument, such as "--limit" or "-m, --message"; without dashes it is positional. `argparse` has the options."""

    def __init__(self, names: str, help: str, **options: Any) -> None:
        self.names, self.help, self.options = tuple(names.split(", ")), help, options
        is_list = options.get("nargs") == "*" and not names.startswith("-")
        self.default = options.pop("default", [] if is_list else None)

    @property
    def metavar(self) -> str:
        """Empty if it takes no value."""
        takes_value = self.options.get("action", "append") in ("append", "extend")
        return str(self.options.get("metavar", self.names[-1].lstrip("-").upper())) if takes_value else ""

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(map(str, self.options.get("choices", ())))

    @property
    def dest(self) -> str:
        """The attribute that holds its value."""
        return str(self.options.get("dest", self.names[-1].lstrip("-").replace("-", "_")))


class Switch(Flag):
    """A flag without a value; `unset` where a setting tells "not given" from "no"."""

    def __init__(self, names: str, help: str, unset: bool | None = False, **options: Any) -> None:
        super().__init__(names, help, action="store_true", default=unset, **options)


class OneOf:
    """Flags of which one may be given."""

    def __init__(self, *flags: Flag) -> None:
        self.flags = flags


class Group(OneOf):
    """Flags under a title of their own."""

    def __init__(self, title: str, *flags: Flag) -> None:
        super().__init__(*flags)
        self.title = title


Flags = tuple[Flag | OneOf, ...]


@dataclass(frozen=True)
class Command:
    name: str
    help: str
    run: str = ""
    """The module below `commonplace` with the function `run`, or `module:function`; an act runs its command's."""
    flags: Flags = ()
    text: str = ""
    acts: tuple["Command", ...] = ()
    default_act: str = ""
    """The act that a call without one means; else an act is required."""
    calls: bool = False
    """Whether `run` is passed a function that calls operations, on a server or on the store."""
    later_words: str = ""
    """The positional that takes words after a flag too, such as the answer in `answer ID --project P yes`."""
    has_help: bool = True

    def list_flags(self) -> Iterator[Flag]:
        for flag in self.flags:
            yield from flag.flags if isinstance(flag, OneOf) else (flag,)

    def walk(self, *parents: str) -> Iterator[tuple[tuple[str, ...], "Command"]]:
        """The command and its acts, each with the words that name it."""
        path = (*parents, self.name)
        yield path, self
        for act in self.acts:
            yield from act.walk(*path)

    def execute(self, arguments: argparse.Namespace) -> int:
        module, _, function = self.run.partition(":")
        run = getattr(importlib.import_module(f"commonplace.{module}"), function or "run")
        if not self.calls:
            return int(run(arguments))
        from commonplace.cli import operation_call  # --help should not wait for it

        return int(
            run(arguments, lambda name, values: operation_call.call_operation(name, values, arguments))
        )


class CommandParser(argparse.ArgumentParser):
    """argparse takes all positionals before the first option that follows one; `later_words` takes the others."""

    later_words = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        arguments, unknown = super().parse_known_args(args, namespace)
        if not self.later_words or any(word.startswith("-") for word in unknown):
            return arguments, unknown
        setattr(arguments, self.later_words, [*getattr(arguments, self.later_words), *unknown])
        return arguments, []


def add_command(parsers: CommandParsers, command: Command, parent: Command | None = None) -> None:
    parser = parsers.add_parser(
        command.name,
        help=command.help,
        description=command.text or command.help,
        epilog=EXIT_CODES if command.calls else "",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=command.has_help,
    )
    parser.later_words = command.later_words
    add_flags(parser, command.flags, {flag.dest for flag in parent.list_flags()} if parent else ())
    if command.acts:
        acts = parser.add_subparsers(
            title="acts",
            metavar="ACT",
            dest=f"{command.name}_act" if parent else "act",
            required=not command.default_act,
        )
        for act in command.acts:
            add_command(acts, act, command)
    if command.default_act:
        parser.set_defaults(act=command.default_act)
    if command.run:
        parser.set_defaults(run=command.execute)


def add_flags(parser: argparse.ArgumentParser, flags: Flags, outer: Collection[str] = ()) -> None:
    """Add the flags; those that stand before an act too get no default here, which would override what was given there."""
    for flag in flags:
        place: Any = parser
        if isinstance(flag, Group):
            place = parser.add_argument_group(flag.title)
        elif isinstance(flag, OneOf):
            place = parser.add_mutually_exclusive_group()
        for each in flag.flags if isinstance(flag, OneOf) else (flag,):
            default = argparse.SUPPRESS if each.dest in outer else each.default
            options = each.options | {"help": each.help.replace("%", "%%"), "default": default}
            place.add_argument(*each.names, **options)


DATA_FLAG = Flag("--data", "data folder (the platform's user data folder)", metavar="DIR")
STORE_FLAG = Flag("--store", "sqlite, or postgresql://user@host/database (sqlite)", metavar="STORE")
PORT_FLAG = Flag("--port", "port to listen on (8080)", type=int)
SERVER_FLAGS: Flags = (
    Flag("--url", "the server's address (COMMONPLACE_URL, .commonplace.toml, config.toml, this machine's)"),
    Flag("--data", "data folder of the server", metavar="DIR"),
    Flag("--store", "the server's store, if no server runs on this machine", metavar="STORE"),
)
"""Which server to use; `client/link/server_choice.py` has the order."""
PROJECT_FLAGS: Flags = (
    OneOf(
        Flag("--project", "the project (default: that of this folder)", metavar="P"),
        Switch("--all", "every project"),
    ),
    Switch("--json", "print JSON for scripts"),
    *SERVER_FLAGS,
)
EXIT_CODES = """exit codes: 0 done, 2 wrong arguments, 3 the server wants another key, 4 the key may not do this,
  5 not found, 6 conflict, 7 too many requests, 8 the server does not answer"""
