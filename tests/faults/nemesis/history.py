"""What clients did and saw: every operation with its attempts, outcomes and times, and what followers were sent.

Times are of one monotonic clock of the harness. An operation is `ok` (acknowledged), `refused` (surely not done) or
`unknown`: no answer, or one that does not say whether it was done.
"""

import time
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["ok", "refused", "unknown"]

read_time = time.monotonic


@dataclass(slots=True)
class Attempt:
    server: int
    invoked: float
    ended: float
    status: int
    """0: no answer."""
    code: str = ""


@dataclass(slots=True)
class Operation:
    """One thing that an agent wanted; the attempts share one idempotency key."""

    project: str
    agent: str
    kind: str
    marker: str
    invoked: float
    arguments: dict[str, Any] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)
    outcome: Outcome = "unknown"
    ended: float = 0.0
    reply: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        servers = ", ".join(f"{each.server}:{each.status or 'none'}" for each in self.attempts)
        return f"{self.kind} {self.marker} of {self.agent} ({self.outcome}; {servers})"


@dataclass(slots=True)
class FollowedEvent:
    number: int
    kind: str
    actor: str
    body: dict[str, Any]


@dataclass(slots=True)
class Follower:
    """One client of /events that resumes where it stopped, on whichever server answers."""

    name: str
    project: str
    events: list[FollowedEvent] = field(default_factory=list)
    resets: list[str] = field(default_factory=list)
    resumes: int = 0

    @property
    def last(self) -> int:
        return self.events[-1].number if self.events else 0


@dataclass(slots=True)
class Fault:
    name: str
    began: float
    ended: float = 0.0
    recovered: float = 0.0
    """When every server was ready again."""

    @property
    def recovery_seconds(self) -> float:
        return self.recovered - self.ended


@dataclass(slots=True)
class History:
    operations: list[Operation] = field(default_factory=list)
    followers: list[Follower] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def select_acknowledged(self, *kinds: str) -> list[Operation]:
        return [each for each in self.operations if each.outcome == "ok" and each.kind in kinds]

    def count(self, outcome: Outcome) -> int:
        return sum(each.outcome == outcome for each in self.operations)
