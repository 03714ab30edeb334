"""`commonplace open`: sign a browser in to the web page with a one-time link."""

import argparse
import getpass
import os
import re
import sys
import webbrowser

from commonplace import errors
from commonplace.cli import operation_call

_NOT_IN_NAMES = re.compile(r"[^\w.@:+-]+")


def run(arguments: argparse.Namespace) -> int:
    choice = next(operation_call.list_server_choices(arguments))
    if choice.server is None:
        raise errors.Unavailable(
            f"No server runs on {choice.named_by}.",
            hint="Start it with `commonplace serve`, or name another with --url URL.",
        )
    link = operation_call.call_operation("memory_create_sign_in_link", {"agent": _name_person()}, arguments)
    address = f"{choice.server.url}/#sign-in={link['code']}"
    print(address)
    print("The link works once, within five minutes.", file=sys.stderr)
    if not arguments.print and _has_browser():
        webbrowser.open(address)
    return 0


def _name_person() -> str:
    """Who acts on the page, where the key does not say it: the name of this account."""
    try:
        account = os.environ.get("COMMONPLACE_AGENT") or getpass.getuser()
    except (OSError, KeyError):
        account = ""
    return _NOT_IN_NAMES.sub("-", account).strip("-.@:+")[:64] or "person"


def _has_browser() -> bool:
    """A terminal without a display would get a browser of text, which cannot show the page."""
    if sys.platform in {"win32", "darwin"}:
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
