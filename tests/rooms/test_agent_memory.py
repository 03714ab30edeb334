"""What an agent keeps for itself: values, scopes, expiry, versions, limits."""

import asyncio
from typing import Any

import pytest

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.server import delete_old_rows
from patience import PATIENCE_SECONDS
from team import Agent, HandClock, Team, open_store


def make_caller(name: str | None, *projects: str, role: access.Role = "agent") -> Caller:
    return Caller(role, frozenset(projects or ("shop",)), f"key_{name}", name)


@pytest.fixture
def alice(team: Team) -> Agent:
    return team.anyone(make_caller("alice"))


@pytest.fixture
async def board(alice: Agent) -> str:
    return (await alice.create_session(purpose="memory"))["session_id"]


def limited_agent(team: Team, caller: Caller, **limits: int) -> Agent:
    return Agent(Calls(team.database, CATALOGUE, Settings(**limits), team.clock), caller=caller)


async def load_usage(team: Team, agent: str = "alice") -> tuple[int, int]:
    row = await team.database.read(
        lambda tx: tx.one(
            "select entries, bytes from context_memory_usage where project = 'shop' and agent = $1", agent
        )
    )
    return row["entries"], row["bytes"]


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, "", "text", [], {}, {"deep": [1, {"ü": None}]}, 2**70, "😀"],
    ids=repr,
)
async def test_set_memory_keeps_any_json(alice: Agent, value: Any):
    stored = await alice.set_memory(key="k", value=value)
    assert stored == {"success": True, "key": "k", "scope": "agent", "version": 1}
    assert await alice.get_memory(key="k") == {
        "key": "k",
        "value": value,
        "version": 1,
        "scope": "agent",
        "created_at": "2027-01-15T08:00:00Z",
        "updated_at": "2027-01-15T08:00:00Z",
    }


async def test_set_memory_again_counts_versions(team: Team, alice: Agent):
    await alice.set_memory(key="k", value=1, metadata={"why": "first"})
    team.clock.advance(minutes=1)
    assert (await alice.set_memory(key="k", value=2, metadata={"why": "second"}))["version"] == 2
    assert await alice.get_memory(key="k") == {
        "key": "k",
        "value": 2,
        "metadata": {"why": "second"},
        "version": 2,
        "scope": "agent",
        "created_at": "2027-01-15T08:00:00Z",
        "updated_at": "2027-01-15T08:01:00Z",
    }


async def test_global_and_session_memory_are_apart(alice: Agent, board: str):
    await alice.set_memory(key="k", value="everywhere")
    stored = await alice.set_memory(key="k", value="here", session_id=board)
    assert stored["scope"] == "session"
    assert (await alice.get_memory(key="k"))["value"] == "everywhere"
    here = await alice.get_memory(key="k", session_id=board)
    assert (here["value"], here["scope"], here["session_id"]) == ("here", "session", board)
    with pytest.raises(errors.NotFound):
        await alice.get_memory(key="other", session_id=board)
    with pytest.raises(errors.NotFound):
        await alice.set_memory(key="k", value=1, session_id="session_0000000000000000")


async def test_memory_of_another_agent_is_out_of_reach(team: Team, alice: Agent, board: str):
    await alice.set_memory(key="k", value="mine")
    await alice.set_memory(key="k", value="mine", session_id=board)
    for other in (
        make_caller("bob"),
        make_caller("root", role="admin"),
        make_caller("boss", role="owner"),
        make_caller("alice", "docs"),
    ):
        agent = team.anyone(other)
        with pytest.raises(errors.NotFound):
            await agent.get_memory(key="k")
        assert await agent.list_memory(session_id="all") == {"entries": [], "total": 0}
        assert await agent.delete_memory(key="k") == {"success": True, "deleted": False}
    assert (await alice.get_memory(key="k"))["value"] == "mine"


async def test_with_keys_memory_of_keys_without_an_agent_is_apart(team: Team):
    calls = Calls(team.database, CATALOGUE, Settings(auth="on"), team.clock)
    first, second = (
        Agent(calls, caller=Caller("agent", frozenset({"shop"}), key_id)) for key_id in ("k1", "k2")
    )
    for agent in (first, second):
        started = await agent.start_session(project="shop", agent="ann")
        agent.session_id = started["session_id"]
    await first.set_memory(key="k", value=1)
    with pytest.raises(errors.NotFound):
        await second.get_memory(key="k")
    with pytest.raises(errors.Forbidden):
        await second.get_memory(key="k", agent_id="k1")


async def test_readonly_key_reads_and_does_not_write(team: Team, alice: Agent):
    await alice.set_memory(key="k", value=1)
    reader = team.anyone(Caller("readonly", frozenset({"shop"}), "key_r", "alice"))
    assert (await reader.get_memory(key="k"))["value"] == 1
    for operation, more in (("set_memory", {"value": 1}), ("delete_memory", {})):
        with pytest.raises(errors.Forbidden):
            await reader.call(operation, key="k", **more)


async def test_expiry_is_exact_at_read(team: Team, alice: Agent):
    stored = await alice.set_memory(key="k", value=1, expires_in=60)
    assert stored["expires_at"] == "2027-01-15T08:01:00Z"
    team.clock.advance(seconds=59.999999)
    assert (await alice.get_memory(key="k"))["expires_at"] == "2027-01-15T08:01:00Z"
    team.clock.advance(seconds=0.000001)
    with pytest.raises(errors.NotFound):
        await alice.get_memory(key="k")
    assert await alice.list_memory() == {"entries": [], "total": 0}
    assert await alice.delete_memory(key="k") == {"success": True, "deleted": False}
    assert await load_usage(team) == (0, 0)


@pytest.mark.parametrize("never", [None, 0])
async def test_memory_without_expiry_stays(team: Team, alice: Agent, never: int | None):
    await alice.set_memory(key="k", value=1, expires_in=60)
    await alice.set_memory(key="k", value=2, expires_in=never)
    team.clock.advance(days=4000)
    assert (await alice.get_memory(key="k"))["value"] == 2


async def test_expired_entry_is_written_as_if_it_were_not_there(team: Team, alice: Agent):
    await alice.set_memory(key="k", value=1, expires_in=1)
    await alice.set_memory(key="k", value=2, expires_in=1)
    team.clock.advance(seconds=1)
    again = await alice.set_memory(key="k", value=3, overwrite=False, expected_version=0)
    assert again["version"] == 1
    assert (await alice.get_memory(key="k"))["created_at"] == "2027-01-15T08:00:01Z"
    assert await load_usage(team) == (1, len("k") + len("3") + len("{}"))


async def test_sweep_deletes_what_expired_and_gives_its_room_back(team: Team, alice: Agent):
    for n in range(5):
        await alice.set_memory(key=f"short{n}", value="x" * 100, expires_in=10)
    await alice.set_memory(key="long", value=1, expires_in=20)
    team.clock.advance(seconds=10)
    await delete_old_rows(team.calls)
    left = await team.database.read(lambda tx: tx.all("select key from context_memory"))
    assert [row["key"] for row in left] == ["long"]
    assert await load_usage(team) == (1, len("long") + len("1") + len("{}"))


async def test_expected_version_decides_who_writes(alice: Agent):
    await alice.set_memory(key="k", value=0, expected_version=0)
    assert (await alice.set_memory(key="k", value=1, expected_version=1))["version"] == 2
    for invalid in (0, 1, 3):
        with pytest.raises(errors.Conflict) as refused:
            await alice.set_memory(key="k", value="lost", expected_version=invalid)
        assert refused.value.details == {"version": 2}
    with pytest.raises(errors.Conflict):
        await alice.set_memory(key="absent", value=1, expected_version=1)
    assert (await alice.get_memory(key="k"))["value"] == 1


async def test_compare_and_set_counts_every_increment(alice: Agent):
    await alice.set_memory(key="n", value=0)

    async def increment() -> None:
        while True:
            now = await alice.get_memory(key="n")
            try:
                await alice.set_memory(key="n", value=now["value"] + 1, expected_version=now["version"])
            except errors.Conflict:
                continue
            return

    await asyncio.wait_for(asyncio.gather(*(increment() for _ in range(10))), PATIENCE_SECONDS)
    final = await alice.get_memory(key="n")
    assert (final["value"], final["version"]) == (10, 11)


async def test_eight_writers_without_overwrite_have_one_winner(team: Team, alice: Agent):
    for round_ in range(5):
        outcomes = await asyncio.gather(
            *(alice.set_memory(key=f"k{round_}", value=n, overwrite=False) for n in range(8)),
            return_exceptions=True,
        )
        won = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, dict)]
        lost = [outcome.code for outcome in outcomes if isinstance(outcome, errors.Refusal)]
        assert (len(won), lost) == (1, ["duplicate"] * 7)
        assert (await alice.get_memory(key=f"k{round_}"))["value"] == won[0]
    assert (await load_usage(team))[0] == 5


async def test_eight_writers_on_two_replicas_have_one_winner(postgres_dsn: str, clock: HandClock):
    stores = [await open_store(postgres_dsn, clock) for _ in range(2)]
    try:
        agents = [
            Agent(Calls(store, CATALOGUE, Settings(), clock), caller=make_caller("alice")) for store in stores
        ]
        for round_ in range(5):
            outcomes = await asyncio.gather(
                *(agents[n % 2].set_memory(key=f"k{round_}", value=n, overwrite=False) for n in range(8)),
                return_exceptions=True,
            )
            assert sum(isinstance(outcome, dict) for outcome in outcomes) == 1
            assert sum(isinstance(outcome, errors.Duplicate) for outcome in outcomes) == 7
    finally:
        for store in stores:
            await store.close()


async def test_list_memory_by_glob_prefix_and_scope(alice: Agent, board: str):
    for name in ("plan.a", "plan.b", "Plan.c", "note_1", "note%2"):
        await alice.set_memory(key=name, value=name)
    await alice.set_memory(key="plan.a", value=[1], session_id=board, expires_in=60)

    async def list_keys(**arguments):
        listing = await alice.list_memory(**arguments)
        assert listing["total"] == len(listing.get("entries", []))
        return [entry["key"] for entry in listing.get("entries", [])]

    assert sorted(await list_keys()) == sorted(["plan.a", "plan.b", "Plan.c", "note_1", "note%2"])
    assert await list_keys(pattern="plan.*") == ["plan.a", "plan.b"]
    assert await list_keys(pattern="*.?") == ["Plan.c", "plan.a", "plan.b"]
    assert await list_keys(pattern="[Pp]lan.[ac]") == ["Plan.c", "plan.a"]
    assert await list_keys(prefix="note_") == ["note_1"]
    assert await list_keys(prefix="note", pattern="*2") == ["note%2"]
    assert await list_keys(session_id=board) == ["plan.a"]
    assert await list_keys(session_id="all", prefix="plan.a") == ["plan.a", "plan.a"]
    assert await alice.list_memory(session_id=board) == {
        "total": 1,
        "entries": [
            {
                "key": "plan.a",
                "scope": "session",
                "session_id": board,
                "version": 1,
                "size": len("plan.a") + len("[1]") + len("{}"),
                "updated_at": "2027-01-15T08:00:00Z",
                "expires_at": "2027-01-15T08:01:00Z",
            }
        ],
    }


async def test_list_memory_pages(alice: Agent):
    for n in range(7):
        await alice.set_memory(key=f"k{n}", value=n)
    page = await alice.list_memory(limit=3, offset=3)
    assert (page["total"], [entry["key"] for entry in page["entries"]]) == (7, ["k3", "k4", "k5"])


async def test_delete_memory_forgets_one_scope(team: Team, alice: Agent, board: str):
    await alice.set_memory(key="k", value=1)
    await alice.set_memory(key="k", value=2, session_id=board)
    assert await alice.delete_memory(key="k") == {"success": True, "deleted": True}
    assert await alice.delete_memory(key="k") == {"success": True, "deleted": False}
    assert (await alice.get_memory(key="k", session_id=board))["value"] == 2
    assert (await load_usage(team))[0] == 1


@pytest.mark.parametrize("invalid", ["", "x" * 256, "a b", "a\tb", "a\nb", "a\u00a0b", "a\0b"])
async def test_key_that_is_none_is_refused(alice: Agent, invalid: str):
    for operation, more in (("set_memory", {"value": 1}), ("get_memory", {}), ("delete_memory", {})):
        with pytest.raises(errors.Invalid):
            await alice.call(operation, key=invalid, **more)


async def test_value_metadata_and_expiry_have_limits(alice: Agent):
    await alice.set_memory(key="x" * 255, value="x" * (1024 * 1024 - 2), expires_in=365 * 24 * 3600)
    for invalid in (
        {"value": "x" * (1024 * 1024 - 1)},
        {"value": 1, "metadata": {"m": "x" * 10_000}},
        {"value": 1, "expires_in": -1},
        {"value": 1, "expires_in": 365 * 24 * 3600 + 1},
        {"value": 1, "metadata": [1]},
    ):
        with pytest.raises((errors.Invalid, errors.TooLarge)):
            await alice.set_memory(key="k", **invalid)


async def test_agent_over_its_number_of_entries_is_refused(team: Team):
    agent = limited_agent(team, make_caller("alice"), agent_memory_entries=3)
    await agent.set_memory(key="soon", value=1, expires_in=10)
    await agent.set_memory(key="a", value=1)
    await agent.set_memory(key="b", value=1)
    with pytest.raises(errors.TooMany):
        await agent.set_memory(key="c", value=1)
    await agent.set_memory(key="a", value=2)
    await limited_agent(team, make_caller("bob"), agent_memory_entries=3).set_memory(key="c", value=1)
    team.clock.advance(seconds=10)
    await agent.set_memory(key="c", value=1)
    assert (await load_usage(team))[0] == 3
    await agent.delete_memory(key="a")
    await agent.set_memory(key="d", value=1)


async def test_agent_over_its_number_of_bytes_is_refused(team: Team):
    agent = limited_agent(team, make_caller("alice"), agent_memory_bytes=1000)
    await agent.set_memory(key="a", value="x" * 900)
    with pytest.raises(errors.TooLarge):
        await agent.set_memory(key="b", value="x" * 100)
    with pytest.raises(errors.TooLarge):
        await agent.set_memory(key="a", value="x" * 1000)
    assert (await agent.get_memory(key="a"))["value"] == "x" * 900
    await agent.set_memory(key="a", value="x")
    await agent.set_memory(key="b", value="x" * 900)


async def test_without_keys_memory_belongs_to_who_the_caller_says(team: Team):
    anyone = team.anyone()
    await anyone.set_memory(key="k", value="of alice", agent_id="alice")
    with pytest.raises(errors.Forbidden):
        await anyone.set_memory(key="k", value="of nobody")
    assert (await anyone.get_memory(key="k", agent_id="alice"))["value"] == "of alice"
    with pytest.raises(errors.NotFound):
        await anyone.get_memory(key="k", agent_id="bob")


async def test_audit_says_that_memory_was_written_and_not_what(team: Team, alice: Agent):
    await alice.set_memory(key="password_of_prod", value="hunter2")
    rows = await team.database.read(lambda tx: tx.all("select project, operation, agent, detail from audit"))
    assert [dict(row) for row in rows] == [
        {"project": "shop", "operation": "set_memory", "agent": "alice", "detail": "agent"}
    ]
