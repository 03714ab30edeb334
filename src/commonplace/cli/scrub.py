"""`commonplace scrub`: remove a secret that slipped in from the store, the archives and the files of the client side."""

import argparse
import getpass
import sys
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.cli import operation_call
from commonplace.client.link import remote

_MIN_SECRET_CHARACTERS = 8
_PAGE = 500
_NO_PROJECT = "(no project)"


def run(arguments: argparse.Namespace) -> int:
    secret = _read_secret()
    projects = _list_projects(arguments)
    found = _scrub_projects(secret, projects, arguments, dry_run=not arguments.yes)
    files = _list_client_files(secret)
    for project, places in found.items():
        counts = ", ".join(f"{place} {count}" for place, count in sorted(places["found"].items()))
        print(f"{project or _NO_PROJECT}: {counts}")
    for path in files:
        print(f"file of this machine: {path}")
    if not found and not files:
        print("The secret was not found.")
    elif arguments.yes:
        for path in files:
            _blank_file(path, secret)
        print("Removed. Sessions are parsed again in the background.")
    else:
        print("Nothing was changed. Run it again with --yes to remove the secret from all of these.")
    _print_warnings(arguments)
    return 0


def _read_secret() -> str:
    """From a pipe or a prompt, never from the command line: other programs see that."""
    text = getpass.getpass("Secret to remove: ") if sys.stdin.isatty() else sys.stdin.read()
    secret = text.rstrip("\r\n")
    if len(secret) < _MIN_SECRET_CHARACTERS:
        raise errors.Invalid(
            f"A secret to remove has at least {_MIN_SECRET_CHARACTERS} characters.",
            hint="Write it to standard input, or type it at the prompt.",
        )
    return secret


def _list_projects(arguments: argparse.Namespace) -> list[str]:
    names: list[str] = []
    while True:
        page = operation_call.call_operation(
            "memory_list_projects", {"limit": _PAGE, "offset": len(names)}, arguments
        )
        names += [item["project"] for item in page["projects"]]
        if len(page["projects"]) < _PAGE:
            return sorted({*names, "shared"})


def _scrub_projects(
    secret: str, projects: list[str], arguments: argparse.Namespace, *, dry_run: bool
) -> dict[str, dict[str, Any]]:
    """What each project holds, or held; the empty name stands for what belongs to no project."""
    replies = {
        project: operation_call.call_operation(
            "memory_scrub",
            {"secret": secret, "dry_run": dry_run} | ({"name": project} if project else {}),
            arguments,
        )
        for project in [*projects, ""]
    }
    return {project: reply for project, reply in replies.items() if reply.get("found")}


def _list_client_files(secret: str) -> list[Path]:
    """Files of the client side that hold the secret: what waits to be sent, and what hooks remember."""
    home = remote.client_home()
    paths = sorted(path for path in home.rglob("*") if path.is_file()) if home.is_dir() else []
    return [path for path in paths if secret.encode() in _read_file(path)]


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _blank_file(path: Path, secret: str) -> None:
    """The length stays, because some of these files are read by offset."""
    secret_bytes = secret.encode()
    path.write_bytes(path.read_bytes().replace(secret_bytes, b"*" * len(secret_bytes)))


def _print_warnings(arguments: argparse.Namespace) -> None:
    last = operation_call.call_operation("memory_last_backup", {}, arguments).get("file")
    name = f", the last one is {last}," if last else ""
    print(
        f"Backups and exports made before now{name} may still hold it: delete them and make a new one."
        " Transcripts of the agent programs themselves, logs and other machines are not touched."
        " Whoever read the secret still knows it: revoke it where it was issued."
    )
