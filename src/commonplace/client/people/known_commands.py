"""`commonplace how` and `commonplace fix`: what worked in the sessions of a project, and what overcame an error there."""

import argparse

from commonplace.client.people import terminal
from commonplace.client.people.person import CallOperation, choose_project

_MAX_RESULTS = 5


def print_how(arguments: argparse.Namespace, call: CallOperation) -> int:
    return _print_known("how", arguments, call)


def print_fixes(arguments: argparse.Namespace, call: CallOperation) -> int:
    return _print_known("fix", arguments, call)


def _print_known(kind: str, arguments: argparse.Namespace, call: CallOperation) -> int:
    project = choose_project(arguments)
    reply = call(
        "memory_query",
        {
            "query": " ".join(arguments.words),
            "memory_types": [kind],
            "limit": _MAX_RESULTS,
            "detail": "full",
            "include_shared": False,
            **({"project": project} if project else {}),
        },
    )
    if arguments.json:
        terminal.print_json(reply)
        return 0
    for result in reply["results"]:
        print(terminal.clean_text(f"{result['content']}\n  {result['age']}, {result.get('author', '')}"))
    if not reply["results"]:
        print("No session of this project has shown that.")
    return 0
