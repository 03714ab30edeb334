"""A rule as the hooks read it: the guideline that it belongs to, when it fires and what it does then.

Plain tuples of plain JSON: a hook reads them beside every edit. `rule_schema.py` has validated them.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Occasion = Literal["edit", "command", "commit", "prompt", "stop"]
Effect = Literal["deny", "ask", "warn", "inject"]

_DURATION = re.compile(r"(\d{1,5})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Rule(NamedTuple):
    name: str
    scope: str
    author: str
    text: str
    """What the model is told."""
    on: tuple[str, ...]
    do: str
    tools: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    pattern: str = ""
    ran: tuple[str, ...] = ()
    within: str = ""
    branches: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    hold: bool = False
    reason: str = ""
    expires: str = ""
    """When it ends, as 2027-01-31T00:00:00Z; empty if it does not."""

    def is_expired(self, now: str) -> bool:
        return bool(self.expires) and self.expires <= now

    @property
    def within_seconds(self) -> int:
        return parse_duration(self.within) or _SECONDS["h"]


def read_rule(stored: Mapping[str, Any]) -> Rule:
    """A rule from the JSON that the server sends: name, scope, author, rule (the guideline's text) and enforce."""
    enforce = stored["enforce"]
    match, unless = enforce.get("match", {}), enforce.get("unless", {})
    return Rule(
        stored["name"],
        stored["scope"],
        stored["author"],
        enforce.get("say") or stored["rule"],
        tuple(enforce["on"]),
        enforce["do"],
        tuple(match.get("tool", ())),
        tuple(match.get("path", ())),
        tuple(match.get("command", ())),
        match.get("text", ""),
        tuple(unless.get("ran", ())),
        unless.get("within", ""),
        tuple(unless.get("branch", ())),
        tuple(unless.get("role", ())),
        bool(enforce.get("hold")),
        enforce.get("reason", ""),
        enforce.get("expires", ""),
    )


def parse_duration(text: str) -> int | None:
    """Seconds of `30m`; None if it is not a duration."""
    match = _DURATION.fullmatch(text)
    return int(match[1]) * _SECONDS[match[2]] if match else None
