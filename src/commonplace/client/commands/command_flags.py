"""Building blocks for the flags of commands."""

import argparse
import importlib
from collections.abc import Callable
from typing import TypeAlias

RawHelp = argparse.RawDescriptionHelpFormatter
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse has no public name for it


def run_lazily(module: str, function: str = "run") -> Callable[[argparse.Namespace], int]:
    """Import a command only when it runs, so that --help is instant."""

    def run(arguments: argparse.Namespace) -> int:
        command: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), function)
        return command(arguments)

    return run


def add_store_flags(command: argparse.ArgumentParser, default: str | None = None) -> None:
    """Flags that say which server to use; `client/server_choice.py` has the order."""
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
