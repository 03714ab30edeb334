"""commonplace key create|list|revoke."""

import argparse
from typing import Any

from commonplace.edges.cli import client


def run(arguments: argparse.Namespace) -> int:
    asked = vars(arguments)
    fields = ("name", "role", "projects", "agent", "expires_in_days")
    given = {name: asked[name] for name in fields if asked.get(name) is not None}
    reply = client.call("memory_admin", {"action": arguments.action} | given, arguments)
    _SHOW[arguments.action](reply)
    return 0


def _created(reply: dict[str, Any]) -> None:
    print(
        f"{reply['key']}\n\nThis is {reply['name']}'s key ({reply['role']}). It is shown only now: keep it safe."
    )
    print(f'Give it to an agent as a header: "Authorization: Bearer {reply["key"]}"')


def _listed(reply: dict[str, Any]) -> None:
    for key in reply.get("keys", []):
        state = "revoked" if key.get("revoked_at") else key.get("expires_at", "valid")
        print(
            f"{key['id']:14} {key['name']:20} {key['role']:9} {','.join(key.get('projects', [])) or '-':20} {state}"
        )


def _revoked(reply: dict[str, Any]) -> None:
    print(f"Revoked {reply.get('name', '')} ({reply.get('id', '')}).")


_SHOW = {"create_key": _created, "list_keys": _listed, "revoke_key": _revoked}
