"""`commonplace service install|status|remove`: run the server from login on."""

import argparse
import shlex

from commonplace import errors
from commonplace.client.install.machine import this_machine
from commonplace.client.install.server_unit import build_unit, install_unit, read_status, remove_unit


def run(arguments: argparse.Namespace) -> int:
    unit = build_unit(this_machine(), _list_flags(arguments))
    if arguments.act == "install":
        if arguments.dry_run:
            print(unit.text)
            print("\n".join(shlex.join(command) for command in unit.start))
            return 0
        install_unit(unit)
        print(
            f"The server runs now and at every login ({unit.manager}{f', {unit.path}' if unit.path else ''})."
        )
        print("Its state: commonplace service status, commonplace doctor")
        return 0
    if arguments.act == "remove":
        if not remove_unit(unit):
            raise errors.NotFound("No service is installed.", hint="commonplace service install")
        print("The server is stopped and no longer starts at login. Its data stays.")
        return 0
    print(read_status(unit) or "No service is installed: commonplace service install")
    return 0


def _list_flags(arguments: argparse.Namespace) -> tuple[str, ...]:
    """What is passed on to `commonplace serve`."""
    named = (("--port", arguments.port), ("--data", arguments.data), ("--store", arguments.store))
    return tuple(word for flag, value in named if value for word in (flag, str(value)))
