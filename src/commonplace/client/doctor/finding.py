"""One line of the doctor: what was looked at, whether it is in order, and the command that fixes it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

Health = Literal["ok", "warning", "problem"]
EXIT_CODES: dict[Health, int] = {"ok": 0, "warning": 1, "problem": 2}
"""As monitoring programs expect them."""


@dataclass(frozen=True)
class Finding:
    check: str
    health: Health
    message: str
    command: str = ""
    """What fixes it, as a person types it."""
    fix: Callable[[], None] | None = None
    """What fixes it without asking, because it can do no harm."""

    def to_dict(self) -> dict[str, Any]:
        shown = {"check": self.check, "health": self.health, "message": self.message}
        return shown | ({"command": self.command} if self.command else {})


def find_worst(findings: Iterable[Finding]) -> Health:
    return max((finding.health for finding in findings), key=EXIT_CODES.__getitem__, default="ok")


def format_duration(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
