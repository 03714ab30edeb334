"""The whole product under a nemesis: nothing that was acknowledged is lost or doubled, no lock is held twice.

The short form is part of `make test`; `make faults` runs more faults and seeds, `make faults LONG=1` some hours
(`nemesis/campaign.py`). NEMESIS_SEED=n chooses another schedule. What is checked: docs/faults.md.
"""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nemesis.campaign import (
    LEASE_SECONDS,
    POSTGRES_FAULTS,
    RECOVERY_LIMIT_SECONDS,
    SQLITE_FAULTS,
    use_only_locks,
)
from nemesis.mutant_rounds import LEASE_SECONDS as MUTANT_LEASE_SECONDS
from nemesis.mutant_rounds import SQLITE_MUTANTS, find_mutant
from nemesis.postgres_pair import running_pair
from nemesis.postgres_rounds import run_on_pair, run_on_postgres
from nemesis.run import RoundPlan, run_on_sqlite
from nemesis.servers import Launcher, ServerProcess, running_launcher
from nemesis.workload import WorkloadSettings
from postgres_process import PostgresProcess, running_postgres

pytestmark = pytest.mark.slow
SEED = int(os.environ.get("NEMESIS_SEED", "1"))
LONG_ROUNDS = 3
CHANCES = 5
MUTANTS_FOUND_AT_ONCE = [
    "lose a write of a batch",
    "ignore idempotency keys",
    "drop an event",
    "skip an audit row",
]


def plan(faults: list[str], seed: int = SEED, **more: object) -> RoundPlan:
    settings = WorkloadSettings(["nemesis0"], lease_seconds=LEASE_SECONDS)
    return RoundPlan(seed, faults, settings, **more)


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with running_launcher() as running:
        yield running


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresProcess]:
    with running_postgres() as running:
        running.execute("alter system set fsync = off; select pg_reload_conf()")
        yield running


@pytest.fixture
def is_long(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--long"))


async def test_one_server_on_sqlite_keeps_what_it_acknowledged(launcher: Launcher, is_long: bool):
    short = ["kill", "power cut", "freeze", "full disk", "clock", "power cut"]
    for round_number in range(LONG_ROUNDS if is_long else 1):
        faults = sorted(set(SQLITE_FAULTS)) * 3 if is_long else short
        (await run_on_sqlite(launcher, plan(faults, SEED + round_number))).require_none()


async def test_three_servers_on_postgresql_keep_what_they_acknowledged(
    launcher: Launcher, own_postgres: PostgresProcess, is_long: bool
):
    short = [
        "kill",
        "database crashes",
        "locked table",
        "full disk",
        "network cut",
        "connections cut",
        "clock",
    ]
    for round_number in range(LONG_ROUNDS if is_long else 1):
        faults = sorted(set(POSTGRES_FAULTS)) if is_long else short
        result = await run_on_postgres(launcher, own_postgres, plan(faults, SEED + round_number))
        result.require_none()


async def test_promoted_standby_has_what_was_acknowledged(launcher: Launcher, is_long: bool):
    if not is_long:
        pytest.skip("a pair of databases takes long to build; `make faults` promotes the standby twice")
    with running_pair() as pair:
        await pair.attach_standby()
        faults = ["kill", "promote", "freeze", "promote"]
        limits = {"recovery_limit_seconds": 2 * RECOVERY_LIMIT_SECONDS}
        (await run_on_pair(launcher, pair, plan(faults, **limits))).require_none()


async def test_checker_finds_every_mutant_on_sqlite(launcher: Launcher, tmp_path: Path, is_long: bool):
    """One server, in which one bug after the other is switched on for a while; without one nothing is found.

    `make faults` switches on all of them.
    """
    server = ServerProcess(
        launcher, tmp_path / "server", ["--data", str(tmp_path / "data")], MUTANT_LEASE_SECONDS
    )
    database = tmp_path / "data" / "commonplace.db"
    try:
        server.start()
        await server.wait_until_ready()
        assert await find_mutant(server, database, "", 0) == []
        hidden = [
            mutant
            for number, mutant in enumerate(SQLITE_MUTANTS if is_long else MUTANTS_FOUND_AT_ONCE, 1)
            if not await _is_found(server, database, mutant, number)
        ]
    finally:
        server.close()
    assert hidden == []


async def _is_found(server: ServerProcess, database: Path, mutant: str, number: int) -> bool:
    """Some bugs show only when two agents meet: each has a few chances."""
    for chance in range(CHANCES):
        if await find_mutant(server, database, mutant, 100 * chance + number):
            return True
    return False


@pytest.mark.parametrize("mutant", ["sync nothing", "sync sometimes"])
async def test_checker_finds_a_server_that_loses_its_tail_with_the_power(
    launcher: Launcher, is_long: bool, mutant: str
):
    if not is_long:
        pytest.skip("four power cuts for each bug; `make faults` finds them")
    hurt = plan(["power cut"] * 4, mutants=[mutant], recovery_limit_seconds=8)
    assert (await run_on_sqlite(launcher, hurt)).violations


@pytest.mark.parametrize(
    ("mutant", "faults", "lock_share"),
    [
        ("grant without a lock", [], 1.0),
        ("forget a commit on PostgreSQL", [], 0.3),
        ("commit without waiting for the log", ["database crashes"] * 6, 0.2),
        ("answer internal errors", ["connections cut"] * 2, 0.3),
    ],
)
async def test_checker_finds_the_mutant_on_postgresql(
    launcher: Launcher,
    own_postgres: PostgresProcess,
    is_long: bool,
    mutant: str,
    faults: list[str],
    lock_share: float,
):
    if not is_long:
        pytest.skip("three servers for each bug; `make faults` finds them")
    settings = WorkloadSettings(
        ["nemesis0"], agents=8, lease_seconds=LEASE_SECONDS, lock_share=lock_share, paths=1
    )
    for chance in range(CHANCES):  # some bugs show only when two replicas meet
        hurt = RoundPlan(SEED + chance, faults, settings, mutants=[mutant], operations_at_least=400)
        if (await run_on_postgres(launcher, own_postgres, hurt)).violations:
            return
    pytest.fail(f"the checker found nothing in {CHANCES} rounds")


@pytest.mark.parametrize(
    ("mutant", "fault"),
    [
        ("lose a write of a batch", "kill"),
        ("reuse fencing tokens", "kill"),
        ("lower fencing tokens", "kill"),
        ("drop an event", "kill"),
        ("grant what others hold", "kill"),
        ("release locks of others", "kill"),
        ("ignore stale tokens", "kill"),
        ("end leases early", "kill"),
        ("follow clock jumps", "clock"),
        ("sync nothing", "power cut"),
    ],
)
async def test_checker_finds_the_mutant_in_a_round_of_locks_on_sqlite(
    launcher: Launcher, is_long: bool, mutant: str, fault: str
):
    if not is_long:
        pytest.skip("a round for each bug; `make faults` finds them")
    for chance in range(CHANCES):
        result = await run_on_sqlite(launcher, _plan_locks("sqlite", mutant, fault, SEED + chance))
        if result.violations:
            return
    pytest.fail(f"the checker found nothing in {CHANCES} rounds")


async def test_locks_are_held_by_one_agent_under_faults(
    launcher: Launcher, own_postgres: PostgresProcess, is_long: bool
):
    if not is_long:
        pytest.skip("two rounds of locks; `make faults` runs them, and `make faults LONG=1` many")
    (await run_on_sqlite(launcher, _plan_locks("sqlite", "", "power cut", SEED))).require_none()
    crashing = _plan_locks("postgresql", "", "database crashes", SEED)
    (await run_on_postgres(launcher, own_postgres, crashing)).require_none()


@pytest.mark.parametrize("mutant", ["grant without a lock", "forget a commit on PostgreSQL"])
async def test_checker_finds_the_mutant_in_a_round_of_locks_on_postgresql(
    launcher: Launcher, own_postgres: PostgresProcess, is_long: bool, mutant: str
):
    if not is_long:
        pytest.skip("three servers for each bug; `make faults` finds them")
    for chance in range(CHANCES):
        hurt = _plan_locks("postgresql", mutant, "kill", SEED + chance)
        if (await run_on_postgres(launcher, own_postgres, hurt)).violations:
            return
    pytest.fail(f"the checker found nothing in {CHANCES} rounds")


def _plan_locks(world: str, mutant: str, fault: str, seed: int) -> RoundPlan:
    hurt = plan([fault] * 3, seed, mutants=[mutant] if mutant else [], recovery_limit_seconds=8)
    return replace(use_only_locks(world, hurt, random.Random(seed)), operations_between=400)
