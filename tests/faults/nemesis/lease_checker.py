"""No two agents hold overlapping locks at one time, tokens only rise, stale tokens are refused, and nothing blocks
for longer than it may, neither a lock nor a reservation.

A lock is held *surely* from the moment its grant was answered until its time is over, counted from the moment the call
was sent, or until its release was sent. It is held *possibly* from the moment the call was sent until the release was
answered, or its time and the takeover delay are over after the holder's last call.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from nemesis.history import History, Operation
from nemesis.stored import StoredEvent, StoredState

TAKEOVER_SHARE = 0.25
"""Of the shortest lease: so long after its end only the old holder may have it back."""
RESERVATION_SHARE = 0.1
"""Of the shortest lease: so long a path that came free is kept for who waited for it."""


@dataclass(slots=True)
class Hold:
    """One token of one path: a grant and its renewals."""

    project: str
    path: str
    agent: str
    token: int
    is_shared: bool
    asked: float
    granted: float
    until: float
    operation: Operation
    released: float = float("inf")
    """When its release was answered."""

    def __str__(self) -> str:
        return f"{self.path} by {self.agent} with token {self.token}"

    def excludes(self, other: "Hold") -> bool:
        return self.agent != other.agent and not (self.is_shared and other.is_shared)


def check_leases(history: History, lease_seconds: float, clock_error: float) -> Iterator[str]:
    by_path = list_sure_holds(history, lease_seconds, clock_error)
    for holds in by_path.values():
        yield from check_exclusion(holds)
    yield from check_tokens(history)
    yield from check_fenced_writes(history, by_path)
    yield from check_blocking(history, lease_seconds, clock_error)
    yield from check_reservations(history, lease_seconds * RESERVATION_SHARE + clock_error)


def list_sure_holds(
    history: History, lease_seconds: float, clock_error: float
) -> dict[tuple[str, str], list[Hold]]:
    """By project and path, in the order of grants."""
    open_holds: dict[tuple[str, str], dict[str, Hold]] = defaultdict(dict)
    by_path: dict[tuple[str, str], list[Hold]] = defaultdict(list)
    for operation in history.operations:
        own = open_holds[operation.project, operation.agent]
        if operation.kind == "unlock":
            for hold in own.values():
                hold.until = min(hold.until, operation.invoked)
                if operation.outcome == "ok":
                    hold.released = operation.ended
            if operation.outcome == "ok":
                own.clear()
            continue
        if operation.kind != "lock" or operation.outcome != "ok" or not operation.reply.get("success"):
            continue
        until = operation.invoked + lease_seconds - clock_error
        for grant in operation.reply["locked"]:
            hold = own.get(grant["file"])
            if hold and hold.token == grant["token"]:
                hold.until = max(hold.until, until)  # renewed: nobody else had it in between
                continue
            if hold:  # another token: it was lost and granted again, or a shared lock became exclusive
                hold.until = min(hold.until, operation.invoked)
            is_shared = operation.arguments["mode"] == "shared"
            hold = Hold(
                operation.project, grant["file"], operation.agent, grant["token"], is_shared,
                operation.invoked, operation.ended, until, operation,
            )  # fmt: skip
            own[grant["file"]] = hold
            by_path[operation.project, grant["file"]].append(hold)
    return by_path


def check_exclusion(holds: list[Hold]) -> Iterator[str]:
    """Sweep over the grants of one path: any that was answered while another was surely held is wrong."""
    alive: list[Hold] = []
    for hold in sorted(holds, key=lambda hold: hold.granted):
        alive = [other for other in alive if other.until > hold.granted]
        for other in alive:
            if hold.excludes(other) and hold.until > hold.granted:
                yield f"two hold {hold}, and {other} for {other.until - hold.granted:.3f} s more"
        alive.append(hold)


def check_tokens(history: History) -> Iterator[str]:
    """No token is given twice, and a grant that began after another one ended has a higher one."""
    by_project: dict[str, list[Operation]] = defaultdict(list)
    for operation in history.operations:
        if operation.kind == "lock" and operation.outcome == "ok" and operation.reply.get("success"):
            by_project[operation.project].append(operation)
    for project, operations in by_project.items():
        owners: dict[int, tuple[str, str]] = {}
        new: list[tuple[Operation, list[int]]] = []
        for operation in operations:
            fresh = []
            for grant in operation.reply["locked"]:
                owner = (operation.agent, grant["file"])
                if grant["token"] not in owners:
                    fresh.append(grant["token"])
                elif owners[grant["token"]] != owner:
                    yield f"token {grant['token']} of {project} was given to {owners[grant['token']]} and {owner}"
                owners.setdefault(grant["token"], owner)
            if fresh:
                new.append((operation, fresh))
        yield from _check_token_order(new)


def _check_token_order(granted: list[tuple[Operation, list[int]]]) -> Iterator[str]:
    """By rising token: nothing may end before an operation with a lower token began."""
    latest: Operation | None = None
    for operation, tokens in sorted(granted, key=lambda pair: min(pair[1])):
        if latest and operation.ended < latest.invoked:
            yield f"{operation} got the token {min(tokens)}, higher than {latest}, which began later"
        if latest is None or operation.invoked > latest.invoked:
            latest = operation


def check_fenced_writes(history: History, by_path: dict[tuple[str, str], list[Hold]]) -> Iterator[str]:
    """A token is refused after it was released or somebody else got the path, and accepted while it is surely held."""
    sorted_holds = {key: sorted(holds, key=lambda hold: hold.token) for key, holds in by_path.items()}
    own_holds = {
        (project, path, hold.agent, hold.token): hold
        for (project, path), holds in by_path.items()
        for hold in holds
    }
    for operation in history.operations:
        if operation.kind != "fenced" or operation.outcome == "unknown":
            continue
        path, token = operation.arguments["path"], operation.arguments["token"]
        own = own_holds.get((operation.project, path, operation.agent, token))
        if own is None:
            continue
        if operation.outcome == "refused":
            if own.granted <= operation.invoked and operation.ended < own.until:
                yield f"{operation} was refused while {own} was held"
            continue
        if own.released < operation.invoked:
            yield f"{operation} with token {token} was accepted after {own} was released"
        holds = sorted_holds[operation.project, path]
        for hold in holds[bisect_right(holds, token, key=lambda hold: hold.token) :]:
            if hold.asked > operation.invoked:
                break
            if hold.granted < operation.invoked and hold.excludes(own):
                yield f"{operation} with token {token} was accepted after {hold} was granted"


def check_takeovers(stored: StoredState) -> Iterator[str]:
    """By the stored events: who loses a lock to another had it, and the other's grant follows at once."""
    for project, events in stored.events.items():
        holders: dict[str, set[str]] = defaultdict(set)
        for event, following in pairwise([*events, None]):
            files = event.body.get("files", [])
            if event.kind == "FilesLocked":
                for file in files:
                    holders[file].add(event.actor)
            elif event.kind == "FilesReleased":
                for file in files:
                    holders[file].discard(event.actor)
            elif event.kind == "LeaseTakenOver":
                yield from _check_takeover(event, following, holders, project)


def _check_takeover(
    event: StoredEvent, following: StoredEvent | None, holders: dict[str, set[str]], project: str
) -> Iterator[str]:
    lost, losers = event.body["files"], event.body["held_by"]
    for agent in losers:
        if not any(agent in holders[file] for file in lost):
            yield f"event {event.number} of {project}: {event.actor} took {lost} over from {agent}, who had none of it"
    if (
        following is None
        or (following.kind, following.actor) != ("FilesLocked", event.actor)
        or not set(lost) <= set(following.body["files"])
    ):
        yield f"event {event.number} of {project}: {event.actor} took {lost} over and was not granted it"
    for file in lost:
        holders[file].difference_update(losers)


class PossibleHolds:
    """When one agent may have held one path: intervals in the order of their beginning."""

    def __init__(self) -> None:
        self._since: list[float] = []
        self._until: list[float] = []
        """The latest end of this interval and all before it."""

    def open(self, since: float, until: float) -> None:
        self._since.append(since)
        self._until.append(max(until, self._until[-1] if self._until else until))

    def extend(self, until: float) -> None:
        self._until[-1] = max(self._until[-1], until)

    def close(self, until: float) -> None:
        """Released: the last interval ended, unless an earlier one may go on."""
        earlier = self._until[-2] if len(self._until) > 1 else until
        self._until[-1] = max(until, earlier)

    def may_hold(self, began: float, ended: float) -> bool:
        last = bisect_right(self._since, ended) - 1
        return last >= 0 and self._until[last] >= began


def check_blocking(history: History, lease_seconds: float, clock_error: float) -> Iterator[str]:
    """A refused lock is explained by somebody who may hold the path."""
    possible = _list_possible_holds(history, lease_seconds * (1 + TAKEOVER_SHARE) + clock_error)
    nobody = PossibleHolds()
    for operation in history.operations:
        if operation.kind != "lock" or operation.outcome != "ok" or operation.reply.get("success"):
            continue
        for conflict in operation.reply.get("conflicts", []):
            if conflict.get("reserved"):
                continue
            holds = possible.get((operation.project, conflict["file"], conflict["held_by"]), nobody)
            if not holds.may_hold(operation.invoked, operation.ended):
                yield f"{operation} was blocked by {conflict['held_by']}, who cannot hold {conflict['file']}"


def check_reservations(history: History, longest: float) -> Iterator[str]:
    """Who has a reservation asked for the path in vain, and loses it in time.

    An agent that asks again may get a further reservation, and so may one that saw another take the path.
    """
    asked, taken = _list_possible_changes(history)
    seen: dict[tuple[str, str, str], float] = {}
    for operation in sorted(history.operations, key=lambda operation: operation.ended):
        for conflict in operation.reply.get("conflicts", []) if operation.kind == "lock" else ():
            if not conflict.get("reserved"):
                continue
            key = (operation.project, conflict["file"], conflict["held_by"])
            began = seen.setdefault(key, operation.ended)
            changes = asked[key], taken[key[:2]]
            if not changes[0].may_hold(0, operation.ended):
                yield f"{operation} was blocked by a reservation of {key[2]}, who did not wait for {key[1]}"
            elif any(change.may_hold(began, operation.ended) for change in changes):
                seen[key] = operation.ended
            elif operation.invoked > began + longest:
                yield f"{operation} was blocked by a reservation of {key[2]} for {key[1]} that should have ended"


def _list_possible_changes(
    history: History,
) -> tuple[dict[tuple[str, str, str], PossibleHolds], dict[tuple[str, str], PossibleHolds]]:
    """When each agent asked for each path, and when somebody may have taken it."""
    asked: dict[tuple[str, str, str], PossibleHolds] = defaultdict(PossibleHolds)
    taken: dict[tuple[str, str], PossibleHolds] = defaultdict(PossibleHolds)
    for operation in sorted(history.operations, key=lambda operation: operation.invoked):
        if operation.kind != "lock":
            continue
        until = float("inf") if operation.outcome == "unknown" else operation.ended
        for path in operation.arguments["files"]:
            asked[operation.project, path, operation.agent].open(operation.invoked, until)
            if operation.outcome != "ok" or operation.reply.get("success"):
                taken[operation.project, path].open(operation.invoked, until)
    return asked, taken


def _list_possible_holds(history: History, longest: float) -> dict[tuple[str, str, str], PossibleHolds]:
    possible: dict[tuple[str, str, str], PossibleHolds] = defaultdict(PossibleHolds)
    open_paths: dict[tuple[str, str], set[str]] = defaultdict(set)
    for operation in history.operations:
        project, agent = operation.project, operation.agent
        own = open_paths[project, agent]
        # Every call of the holder renews. One that was not answered may run at any time.
        until = float("inf") if operation.outcome == "unknown" else operation.ended + longest
        for path in own:
            possible[project, path, agent].extend(until)
        if operation.kind == "unlock" and operation.outcome == "ok":
            for path in own:
                possible[project, path, agent].close(operation.ended)
            own.clear()
        elif operation.kind == "lock" and (operation.outcome != "ok" or operation.reply.get("success")):
            for path in operation.arguments["files"]:
                if path not in own:
                    possible[project, path, agent].open(operation.invoked, until)
                    own.add(path)
    return possible
