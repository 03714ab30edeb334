"""The checker of histories, on small histories by hand: what must be found, and what must not."""

from typing import Any

import pytest

from nemesis.checker import check_audit, check_followers, check_writes
from nemesis.history import FollowedEvent, Follower, History, Operation
from nemesis.lease_checker import check_leases, check_takeovers
from nemesis.stored import StoredEvent, StoredState

LEASE_SECONDS = 10.0


def lock(
    agent: str, invoked: float, ended: float, token: int, mode: str = "exclusive", **more: Any
) -> Operation:
    arguments = {"files": ["a.py"], "mode": mode}
    reply = {"success": True, "locked": [{"file": "a.py", "token": token}]} | more
    return Operation("shop", agent, "lock", f"{agent} {token}", invoked, arguments, [], "ok", ended, reply)


def refused_lock(agent: str, invoked: float, ended: float, holder: str, **more: Any) -> Operation:
    reply = {"success": False, "conflicts": [{"file": "a.py", "held_by": holder} | more]}
    return Operation("shop", agent, "lock", agent, invoked, {"files": ["a.py"]}, [], "ok", ended, reply)


def unlock(agent: str, invoked: float, ended: float) -> Operation:
    return Operation("shop", agent, "unlock", agent, invoked, {}, [], "ok", ended, {"released": ["a.py"]})


def fenced(agent: str, invoked: float, ended: float, token: int, outcome: str = "ok") -> Operation:
    arguments = {"path": "a.py", "token": token}
    return Operation("shop", agent, "fenced", agent, invoked, arguments, [], outcome, ended)


def find(*operations: Operation) -> list[str]:
    return list(check_leases(History(list(operations)), LEASE_SECONDS, clock_error=0.0))


BEN_WAITS = [lock("ann", 0, 1, 1), refused_lock("ben", 2, 2.1, "ann"), unlock("ann", 3, 3.1)]
RESERVED_FOR_BEN = refused_lock("eve", 3.2, 3.3, "ben", reserved=True)


@pytest.mark.parametrize(
    "operations",
    [
        [*BEN_WAITS, RESERVED_FOR_BEN, refused_lock("eve", 4, 4.1, "ben", reserved=True)],
        [*BEN_WAITS, RESERVED_FOR_BEN, lock("ben", 4, 4.1, 2)],
        [lock("ann", 0, 1, 1), unlock("ann", 2, 3), lock("ben", 2.5, 2.8, 2)],
        [lock("ann", 0, 1, 1), lock("ben", 10.5, 11, 2)],
        [lock("ann", 0, 1, 1, "shared"), lock("ben", 2, 3, 2, "shared")],
        [lock("ann", 0, 1, 1), lock("ann", 2, 3, 1), unlock("ann", 4, 5), lock("ben", 5, 6, 2)],
        [lock("ann", 0, 1, 1, "shared"), lock("ann", 2, 3, 2), unlock("ann", 4, 5), lock("ben", 5, 6, 3)],
        [lock("ann", 0, 1, 1), refused_lock("ben", 12, 13, "ann")],
        [lock("ann", 0, 1, 1), lock("ben", 11, 12, 2), fenced("ann", 13, 14, 1, "refused")],
        [lock("ann", 0, 1, 1), unlock("ann", 2, 3), fenced("ann", 4, 5, 1, "refused")],
    ],
)
def test_what_may_happen_is_not_reported(operations: list[Operation]):
    assert find(*operations) == []


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        ([lock("ann", 0, 1, 1), lock("ben", 2, 3, 2)], "two hold"),
        ([lock("ann", 0, 1, 1, "shared"), lock("ben", 2, 3, 2)], "two hold"),
        ([lock("ann", 0, 1, 1), lock("ann", 8, 9, 1), lock("ben", 12, 13, 2)], "two hold"),
        ([lock("ann", 0, 1, 7), unlock("ann", 2, 3), lock("ben", 4, 5, 7)], "was given to"),
        ([lock("ann", 0, 1, 7), unlock("ann", 2, 3), lock("ben", 4, 5, 6)], "higher than"),
        ([lock("ann", 0, 1, 1), lock("ben", 11, 12, 2), fenced("ann", 13, 14, 1)], "was accepted after"),
        ([lock("ann", 0, 1, 1), unlock("ann", 2, 3), fenced("ann", 4, 5, 1)], "was released"),
        ([lock("ann", 0, 1, 1), fenced("ann", 2, 3, 1, "refused")], "was refused while"),
        ([lock("ann", 0, 1, 1), refused_lock("ben", 14, 15, "ann")], "cannot hold"),
        ([lock("ann", 0, 1, 1), unlock("ann", 2, 3), refused_lock("ben", 4, 5, "ann")], "cannot hold"),
        ([refused_lock("eve", 4, 5, "dora", reserved=True)], "did not wait"),
        (
            [*BEN_WAITS, RESERVED_FOR_BEN, refused_lock("eve", 5, 5.1, "ben", reserved=True)],
            "should have ended",
        ),
    ],
)
def test_what_must_not_happen_to_locks_is_reported(operations: list[Operation], words: str):
    [violation] = find(*operations)
    assert words in violation


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ("ann FilesLocked, ben LeaseTakenOver, ben FilesLocked", None),
        ("ann FilesReleased, ben LeaseTakenOver, ben FilesLocked", "who had none of it"),
        ("ann FilesLocked, ben LeaseTakenOver, cid FilesLocked", "was not granted it"),
        ("ann FilesLocked, ben LeaseTakenOver", "was not granted it"),
    ],
)
def test_takeovers_are_accounted_for(kinds: str, words: str | None):
    body = {"files": ["a.py"], "held_by": ["ann"]}
    events = [
        StoredEvent(number, kind, actor, body, True)
        for number, (actor, kind) in enumerate((each.split() for each in kinds.split(", ")), 1)
    ]
    found = list(check_takeovers(StoredState(events={"shop": events})))
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def write(outcome: str, identity: str = "doc_1") -> Operation:
    return Operation("shop", "ann", "store", "note", 0, {}, [], outcome, 1, {"id": identity})


@pytest.mark.parametrize(
    ("operation", "ids", "words"),
    [
        (write("ok"), ["doc_1"], None),
        (write("unknown"), ["doc_1"], None),
        (write("unknown"), [], None),
        (write("ok"), [], "is not stored"),
        (write("ok"), ["doc_1", "doc_2"], "stored 2 times"),
        (write("unknown"), ["doc_1", "doc_2"], "stored 2 times"),
        (write("refused"), ["doc_1"], "was refused and is stored"),
        (write("ok", "doc_9"), ["doc_1"], "another id"),
    ],
)
def test_writes_are_accounted_for(operation: Operation, ids: list[str], words: str | None):
    found = list(check_writes(History([operation]), StoredState(ids={"document": {"note": ids}})))
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([1, 2, 3], None), ([1, 3], "1 missing (2)"), ([1, 2, 2, 3], "twice (2)"), ([2, 1, 3], "other order")],
)
def test_followers_are_compared_with_what_is_stored(numbers: list[int], words: str | None):
    stored = [StoredEvent(n, "Tested", "ann", {"id": str(n)}, True) for n in (1, 2, 3)]
    seen = [FollowedEvent(n, "Tested", "ann", {"id": str(n)}) for n in numbers]
    history = History(followers=[Follower("follower", "shop", seen)])
    found = list(check_followers(history, StoredState(events={"shop": stored})))
    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def test_a_row_without_its_audit_row_is_reported():
    state = StoredState()
    state.rows_of_kind.update({"store": 2})
    state.audited.update({"memory_store": 1})
    assert list(check_audit(state)) == ["2 rows of memory_store are stored, and 1 audit rows of it"]
