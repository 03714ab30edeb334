"""A key for the agents of the machine that runs the server, where keys are on and none was given.

The local operator's token, which only this user can read, allows to create it.
"""

import argparse
import getpass
import secrets
import socket
import sys

from commonplace import errors
from commonplace.client.link import remote, server_choice
from commonplace.client.link.remote import RemoteServer
from commonplace.client.people import terminal

_TIMEOUT_SECONDS = 10
_ROLE = "agent"


def create_missing_key(arguments: argparse.Namespace, server: RemoteServer) -> str:
    """The secret of a new key; empty if none is needed, this machine does not run the server, or nobody agreed."""
    if server.key or arguments.dry_run or arguments.force:
        return ""
    token = server_choice.find_operator_token(server.url, remote.default_data_folder())
    if not token or not _requires_key(server) or not _is_agreed(arguments):
        return ""
    name = f"{getpass.getuser()}@{socket.gethostname().split('.')[0]}"
    operator = RemoteServer(server.url, token)
    try:
        return _create_key(operator, name)
    except remote.ServerRefusal as refusal:
        if refusal.status != errors.Conflict.status:
            raise errors.Forbidden(str(refusal), hint=refusal.hint) from None
        return _create_key(operator, f"{name}-{secrets.token_hex(2)}")


def add_local_token(server: RemoteServer) -> RemoteServer:
    """The server with this user's own token, if it asks for one and no key is configured (--auth local)."""
    token = "" if server.key else remote.read_local_token(server.url)
    with_token = server._replace(key=token)
    return with_token if token and _requires_key(server) and not _requires_key(with_token) else server


def _create_key(operator: RemoteServer, name: str) -> str:
    arguments = {"action": "create_key", "name": name, "role": _ROLE, "projects": ["*"]}
    reply = remote.call_operation(operator, "memory_admin", arguments, _TIMEOUT_SECONDS)
    print(f"Created the key {name} ({reply['id']}) for the agents of this machine.")  # noqa: T201 - a command's output
    return str(reply["key"])


def _requires_key(server: RemoteServer) -> bool:
    try:
        remote.call_operation(server, "memory_health", {}, _TIMEOUT_SECONDS)
    except remote.ServerRefusal as refusal:
        return refusal.status == errors.Unauthenticated.status
    except remote.ServerUnreachable:
        return False
    return False


def _is_agreed(arguments: argparse.Namespace) -> bool:
    if arguments.yes:
        return True
    if not sys.stdin.isatty():
        return False
    answer = terminal.ask("The server requires a key. Create one for the agents of this machine? [Y/n] ")
    return answer.strip().lower() in {"", "y", "yes"}
