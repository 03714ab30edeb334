"""`commonplace webhook add`, `list`, `remove` and `test`."""

import argparse
import getpass
import sys
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.cli import operation_call


def run(arguments: argparse.Namespace) -> int:
    named: dict[str, Any] = {"project": arguments.project} if arguments.project else {}
    if arguments.act == "add":
        reply = operation_call.call_operation(
            "memory_add_webhook", named | _read_webhook(arguments), arguments
        )
        print(f"{reply['id']}\nTry it: commonplace webhook test {reply['id']}{_name_project(arguments)}")
    elif arguments.act == "list":
        webhooks = operation_call.call_operation("memory_list_webhooks", named, arguments)["webhooks"]
        for webhook in webhooks:
            print(_format_webhook(webhook))
        if not webhooks:
            print("No webhooks. `commonplace webhook --help` shows how to add one.", file=sys.stderr)
    else:
        operation = f"memory_{arguments.act}_webhook"
        reply = operation_call.call_operation(operation, named | {"id": arguments.id}, arguments)
        print(f"{reply['id']}\t{reply['status']}")
    return 0


def _read_webhook(arguments: argparse.Namespace) -> dict[str, Any]:
    """The address is a secret: it comes from standard input, not from the command line, which others can see."""
    url = getpass.getpass("Address: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not url.strip():
        raise errors.Invalid("No address was given.", hint="Write it to standard input.")
    values: dict[str, Any] = {
        "kind": arguments.kind,
        "url": url.strip(),
        "topics": arguments.on,
        "delay_seconds": arguments.delay,
        "digest_hour": arguments.hour,
    }
    if arguments.token_file:
        values["token"] = Path(arguments.token_file).read_text(encoding="utf-8").strip()
    return values


def _name_project(arguments: argparse.Namespace) -> str:
    return f" --project {arguments.project}" if arguments.project else ""


def _format_webhook(webhook: dict[str, Any]) -> str:
    state = webhook.get("last_error") or (
        f"sent {webhook['last_success']}" if webhook.get("last_success") else "unused"
    )
    waiting = f", {webhook['waiting']} waiting" if webhook.get("waiting") else ""
    fields = (
        webhook["id"],
        webhook["project"],
        webhook["kind"],
        webhook["address"],
        ",".join(webhook["topics"]),
    )
    return "\t".join((*fields, f"{state}{waiting}"))
