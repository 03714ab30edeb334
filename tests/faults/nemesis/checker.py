"""Compares a history with what is stored at its end. Each check returns sentences, one for each thing that is wrong.

Nothing here asks the product: `stored.py` reads the rows past all of its code.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from nemesis.history import History, Operation
from nemesis.lease_checker import check_leases, check_takeovers
from nemesis.stored import StoredState

WRITES = {"store": "document", "learning": "document", "message": "message", "backlog": "backlog"}
"""The operations that leave one row each, and its table."""
AUDITED = {
    "store": "memory_store",
    "learning": "memory_record_learning",
    "message": "memory_send_message",
    "backlog": "memory_add_backlog_item",
}
_EVENT_KINDS = {
    "store": "DocumentStored",
    "learning": "DocumentStored",
    "message": "MessageSent",
    "backlog": "BacklogChanged",
}
_EXPECTED_REFUSALS = {"stale_token", "unavailable", "too_many"}
_UNAVAILABLE = 503
_SERVER_ERROR = 500


def find_violations(
    history: History, stored: StoredState, lease_seconds: float, clock_error: float
) -> list[str]:
    return [
        *stored.damage,
        *check_replies(history),
        *check_writes(history, stored),
        *check_repeats(history),
        *check_reads(history),
        *check_audit(stored),
        *check_event_numbers(stored),
        *check_events_of_writes(history, stored),
        *check_event_order(history, stored),
        *check_followers(history, stored),
        *check_leases(history, lease_seconds, clock_error),
        *check_takeovers(stored),
    ]


def check_replies(history: History) -> Iterator[str]:
    """Every error is a refusal that says what to do; none is an internal one, none denies a session that lives."""
    for operation in history.operations:
        for attempt in operation.attempts:
            if attempt.status >= _SERVER_ERROR and attempt.status != _UNAVAILABLE:
                yield f"{operation} was answered {attempt.status} {attempt.code}"
            elif attempt.status >= 400 and attempt.code not in _EXPECTED_REFUSALS:
                yield f"{operation} was refused as {attempt.code}"


def check_writes(history: History, stored: StoredState) -> Iterator[str]:
    """What was acknowledged is stored once, what is unknown at most once, what was refused not at all."""
    for operation in history.operations:
        table = WRITES.get(operation.kind)
        if table is None:
            continue
        ids = stored.ids[table].get(operation.marker, [])
        if operation.outcome == "ok" and not ids:
            yield f"{operation} was acknowledged and is not stored"
        elif operation.outcome == "refused" and ids:
            yield f"{operation} was refused and is stored"
        elif len(ids) > 1:
            yield f"{operation} is stored {len(ids)} times"
        elif operation.outcome == "ok" and ids != [find_id(operation)]:
            yield f"{operation} was answered with another id than the stored one"


def check_repeats(history: History) -> Iterator[str]:
    """A call that is sent again with its key is answered as before."""
    for operation in history.operations:
        if operation.kind == "repeat" and operation.outcome == "ok":
            first = operation.arguments["first"]
            if _strip_notices(operation.reply) != _strip_notices(first.reply):
                yield f"{first} was answered otherwise when it was sent again"
        elif operation.kind == "repeat" and operation.outcome == "refused":
            yield f"{operation.arguments['first']} was refused when it was sent again"


def _strip_notices(reply: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in reply.items() if not name.startswith("_")}


def check_reads(history: History) -> Iterator[str]:
    """What was acknowledged is found by every read that begins afterwards."""
    for operation in history.select_acknowledged("read"):
        if not operation.reply.get("found"):
            yield f"{operation.arguments['first']} was acknowledged and a later read did not find it"


def check_audit(stored: StoredState) -> Iterator[str]:
    """Each row that a call left has its audit row."""
    for kind, operation in AUDITED.items():
        rows, audited = stored.rows_of_kind[kind], stored.audited[operation]
        if rows != audited:
            yield f"{rows} rows of {operation} are stored, and {audited} audit rows of it"


def check_event_numbers(stored: StoredState) -> Iterator[str]:
    for project, events in stored.events.items():
        numbers = [event.number for event in events]
        if numbers != list(range(1, len(numbers) + 1)):
            gap = next(n for n, number in enumerate(numbers, 1) if n != number)
            yield f"the events of {project} are not numbered without gaps: {gap} is missing"


def check_events_of_writes(history: History, stored: StoredState) -> Iterator[str]:
    """What was acknowledged has its event once."""
    counts = count_events_of_writes(stored)
    for operation in history.operations:
        if operation.kind in WRITES or operation.kind == "fenced":
            expected = _list_event_keys(operation)
            for key in expected:
                seen = counts[operation.project][key]
                if operation.outcome == "ok" and seen != 1:
                    yield f"{operation} was acknowledged and has {seen} events"
    for operation, low, high, seen in _count_lock_events(history, stored):
        if not low <= seen <= high:
            yield f"{operation}: {seen} events, but {low} to {high} calls did it"


def count_events_of_writes(stored: StoredState) -> dict[str, Counter[tuple[str, str]]]:
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for project, events in stored.events.items():
        for event in events:
            counts[project][event.kind, str(event.body.get("id") or event.body.get("title", ""))] += 1
    return counts


def _list_event_keys(operation: Operation) -> list[tuple[str, str]]:
    if operation.kind == "fenced":
        return [("WorkUpdated", operation.marker)]
    identity = find_id(operation)
    return [(_EVENT_KINDS[operation.kind], identity)] if identity else []


def _count_lock_events(history: History, stored: StoredState) -> Iterator[tuple[str, int, int, int]]:
    """For each agent: how many grants and releases there must and may be, and how many events there are."""
    low: Counter[tuple[str, str, str]] = Counter()
    high: Counter[tuple[str, str, str]] = Counter()
    for operation in history.operations:
        kind = {"lock": "FilesLocked", "unlock": "FilesReleased"}.get(operation.kind)
        if kind is None:
            continue
        key = (operation.project, operation.agent, kind)
        did = operation.outcome == "ok" and (
            operation.reply.get("success") or operation.reply.get("released")
        )
        low[key] += bool(did)
        high[key] += bool(did) or operation.outcome == "unknown"
    seen = Counter(
        (project, event.actor, event.kind) for project, events in stored.events.items() for event in events
    )
    for key in high:
        yield f"{key[2]} of {key[1]} in {key[0]}", low[key], high[key], seen[key]


def check_event_order(history: History, stored: StoredState) -> Iterator[str]:
    """An event of an operation that ended before another began has the smaller number."""
    by_event = {
        (operation.project, *key): operation
        for operation in history.operations
        if operation.outcome == "ok" and (operation.kind in WRITES or operation.kind == "fenced")
        for key in _list_event_keys(operation)
    }
    for project, events in stored.events.items():
        latest: Operation | None = None
        for event in events:
            key = (project, event.kind, str(event.body.get("id") or event.body.get("title", "")))
            operation = by_event.get(key)
            if operation is None:
                continue
            if latest and operation.ended < latest.invoked:
                yield f"the event of {operation} comes after that of {latest}, which began later"
            if latest is None or operation.invoked > latest.invoked:
                latest = operation


def check_followers(history: History, stored: StoredState) -> Iterator[str]:
    """Each follower was sent every event once, in order, as it is stored."""
    for follower in history.followers:
        expected = [event for event in stored.events.get(follower.project, []) if event.is_for_everyone]
        for reset in follower.resets:
            yield f"{follower.name} was told to start again: {reset}"
        if [_event_key(event) for event in follower.events] != [_event_key(event) for event in expected]:
            yield _describe_difference(
                follower.name, [e.number for e in follower.events], [e.number for e in expected]
            )


def _event_key(event: object) -> tuple[object, ...]:
    return (event.number, event.kind, event.actor, str(event.body))


def _describe_difference(name: str, seen: list[int], expected: list[int]) -> str:
    twice = [number for number, times in Counter(seen).items() if times > 1]
    missing, more = set(expected) - set(seen), set(seen) - set(expected)
    parts = [
        f"{len(numbers)} {what} ({', '.join(map(str, sorted(numbers)[:5]))})"
        for what, numbers in (("missing", missing), ("not stored", more), ("twice", twice))
        if numbers
    ]
    return f"{name} was sent other events than stored: {'; '.join(parts) or 'other order or content'}"


def find_id(operation: Operation) -> str:
    return str(operation.reply.get("message_id") or operation.reply.get("id") or "")


def summarize(violations: Iterable[str], limit: int = 20) -> str:
    listed = list(violations)
    more = f"\n... and {len(listed) - limit} more" if len(listed) > limit else ""
    return "\n".join(listed[:limit]) + more
