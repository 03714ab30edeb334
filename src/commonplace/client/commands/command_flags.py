"""What the flags of every command are made of."""

import argparse
import importlib
from collections.abc import Callable
from typing import TypeAlias

RawHelp = argparse.RawDescriptionHelpFormatter
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse names it nowhere else


def run_lazily(module: str) -> Callable[[argparse.Namespace], int]:
    """Import a command only when it runs, so that --help is instant."""

    def run(arguments: argparse.Namespace) -> int:
        command: Callable[[argparse.Namespace], int] = importlib.import_module(module).run
        return command(arguments)

    return run


def add_store_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--data", metavar="DIR", help="data folder of the server")
    command.add_argument("--store", metavar="STORE", help="its store, when it is not running on this machine")
