"""Building blocks for the flags of commands."""

import argparse
import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

RawHelp = argparse.RawDescriptionHelpFormatter
Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"  # noqa: SLF001 - argparse has no public name for it


class CommandParser(argparse.ArgumentParser):
    """The parser of a command. argparse takes all positionals before the first option that follows one: words after it
    go to the positional that `takes_later_words` names, such as the answer in `answer ID --project P yes`."""

    takes_later_words = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        arguments, unknown = super().parse_known_args(args, namespace)
        if not self.takes_later_words or any(word.startswith("-") for word in unknown):
            return arguments, unknown
        getattr(arguments, self.takes_later_words).extend(unknown)
        return arguments, []


def run_lazily(module: str, function: str = "run") -> Callable[[argparse.Namespace], int]:
    """Import a command only when it runs, so that --help is instant."""

    def run(arguments: argparse.Namespace) -> int:
        command: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), function)
        return command(arguments)

    return run


def add_store_flags(command: argparse.ArgumentParser, default: str | None = None) -> None:
    """Flags that say which server to use; `client/link/server_choice.py` has the order."""
    command.add_argument(
        "--url",
        default=default,
        help="the server's address (COMMONPLACE_URL, .commonplace.toml, config.toml, this machine's)",
    )
    command.add_argument("--data", default=default, metavar="DIR", help="data folder of the server")
    command.add_argument(
        "--store",
        default=default,
        metavar="STORE",
        help="the server's store, if no server runs on this machine",
    )
