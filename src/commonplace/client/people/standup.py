"""`commonplace standup`: what was done, by whom, with what proof, and what is open."""

import argparse
import re
from datetime import UTC, datetime, timedelta

from commonplace import errors
from commonplace.client.people import terminal
from commonplace.client.people.person import CallOperation, choose_project

_AGO = re.compile(r"(\d{1,4})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def run(arguments: argparse.Namespace, call: CallOperation) -> int:
    project = choose_project(arguments)
    values = {"project": project} if project else {}
    if arguments.since:
        values["since"] = parse_since(arguments.since, datetime.now(UTC))
    reply = call("memory_get_standup", values)
    if arguments.json:
        terminal.print_json(reply)
    else:
        print(terminal.clean_text(reply["markdown"]), end="")
    return 0


def parse_since(text: str, now: datetime) -> str:
    """A time as ISO 8601; 8h means eight hours ago."""
    if ago := _AGO.fullmatch(text):
        return (now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})).isoformat()
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise errors.Invalid(
            f"'{text}' is not a time.", hint="Write --since 8h, 2d or 2026-01-15T08:00."
        ) from None
    return given.astimezone(UTC).isoformat()
