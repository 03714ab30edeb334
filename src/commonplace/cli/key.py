"""`commonplace key create`, `list`, `revoke`, `readmit` and `revoke-writer`."""

import argparse
import sys
from typing import Any

from commonplace.cli import operation_call


def run(arguments: argparse.Namespace) -> int:
    values = vars(arguments)
    fields = ("name", "role", "projects", "machines", "workspaces", "agent", "expires_in_days", "person")
    key_arguments = {name: values[name] for name in fields if values.get(name) is not None}
    if arguments.act == "readmit":
        return _readmit(arguments)
    action, print_reply = _ACTIONS[arguments.act]
    print_reply(operation_call.call_operation("memory_admin", {"action": action} | key_arguments, arguments))
    return 0


def _readmit(arguments: argparse.Namespace) -> int:
    reply = operation_call.call_operation("memory_readmit_subject", {"id": arguments.name}, arguments)
    print(f"{reply['id']} may use the server again.")
    return 0


def _print_created(reply: dict[str, Any]) -> None:
    print(
        f"{reply['key']}\n\nThis is {reply['name']}'s key ({reply['role']}). It is shown only once: store it in a safe place."
    )
    print(f'Agents send it as a header: "Authorization: Bearer {reply["key"]}"')
    if projects := reply.get("projects"):
        print(f"It may use {'all projects' if projects == ['*'] else ', '.join(projects)}.")
        return
    again = f"commonplace key create --name {reply['name']} --role {reply['role']} --projects '*'"
    print("It may use no project, so nearly every call will be refused.", file=sys.stderr)
    print(f"  Create another: commonplace key revoke {reply['id']} && {again}", file=sys.stderr)


def _print_keys(reply: dict[str, Any]) -> None:
    for key in reply.get("keys", []):
        state = "revoked" if key.get("revoked_at") else key.get("expires_at", "valid")
        print(
            f"{key['id']:14} {key['name']:20} {key['role']:9} {','.join(key.get('projects', [])) or '-':20} {state}"
            + "".join(
                f"  {kind} {','.join(key[kind])}" for kind in ("machines", "workspaces") if key.get(kind)
            )
        )


def _print_revoked(reply: dict[str, Any]) -> None:
    print(f"Revoked {reply.get('name', '')} ({reply.get('id', '')}).")


def _print_writer_revoked(reply: dict[str, Any]) -> None:
    outcome = "Revoked write access to" if reply["status"] == "revoked" else "Had no write access to"
    print(f"{outcome} {reply['workspace_id']}.")


_ACTIONS = {
    "create": ("create_key", _print_created),
    "list": ("list_keys", _print_keys),
    "revoke": ("revoke_key", _print_revoked),
    "revoke-writer": ("revoke_writer", _print_writer_revoked),
}
