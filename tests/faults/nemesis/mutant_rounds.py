"""Rounds on one server that has a bug for a while: each in a project of its own, so that many share one process."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nemesis import checker, stored
from nemesis.run import last_numbers_of_file, wait_for_followers
from nemesis.servers import ServerProcess
from nemesis.workload import Workload, WorkloadSettings
from patience import PATIENCE_SECONDS

LEASE_SECONDS = 0.6
"""The servers of these rounds must have it as well."""
_ONLY_LOCKS = {"lock_share": 1.0, "paths": 1, "agents": 4, "followers": 0}


@dataclass(frozen=True)
class MutantLoad:
    """The load under which a mutant shows soon."""

    operations: int = 90
    settings: dict[str, Any] = field(default_factory=dict)
    hurt: Callable[[ServerProcess], Awaitable[None]] | None = None


async def _fill_disk(server: ServerProcess) -> None:
    server.command(do="fill", full=True)
    await asyncio.sleep(0.2)
    server.command(do="fill", full=False)


async def _set_clock(server: ServerProcess) -> None:
    """Forward for a day, and back: each while locks are held."""
    for hours in (12, 0):
        await asyncio.sleep(LEASE_SECONDS / 2)
        server.command(do="clock", seconds=hours * 3600)


SQLITE_MUTANTS = {
    "acknowledge before commit": MutantLoad(40, {"lock_share": 0.0}),
    "lose a write of a batch": MutantLoad(),
    "ignore idempotency keys": MutantLoad(settings={"lock_share": 0.0}),
    "answer a repeated call anew": MutantLoad(settings={"lock_share": 0.0}),
    "reuse fencing tokens": MutantLoad(30, _ONLY_LOCKS),
    "lower fencing tokens": MutantLoad(30, _ONLY_LOCKS),
    "skip an event number": MutantLoad(),
    "drop an event": MutantLoad(),
    "emit an event twice": MutantLoad(),
    "grant what others hold": MutantLoad(60, _ONLY_LOCKS),
    "release locks of others": MutantLoad(120, _ONLY_LOCKS | {"shared_share": 0.7}),
    "ignore stale tokens": MutantLoad(
        150, _ONLY_LOCKS | {"nap_share": 0.9, "fenced_share": 1.0, "pause_seconds": 0.02}
    ),
    "end leases early": MutantLoad(100, _ONLY_LOCKS | {"nap_share": 0.9, "pause_seconds": 0.02}),
    "follow clock jumps": MutantLoad(60, _ONLY_LOCKS | {"nap_share": 0.8}, _set_clock),
    "skip an audit row": MutantLoad(settings={"lock_share": 0.0}),
    "resume streams too late": MutantLoad(settings={"events_of_stream": 10}),
    "answer internal errors": MutantLoad(40, {"lock_share": 0.0}, _fill_disk),
}
"""What can be found on SQLite without a restart."""


async def find_mutant(server: ServerProcess, database: Path, mutant: str, number: int) -> list[str]:
    """Apply the mutant, let agents work, heal it, and return what the checker found; without a mutant, nothing."""
    load = SQLITE_MUTANTS.get(mutant, MutantLoad())
    settings = WorkloadSettings([f"mutant{number}x"], lease_seconds=LEASE_SECONDS, **load.settings)
    workload = Workload([server.port], settings, number)
    await workload.start()
    try:
        if mutant:
            server.command(do="mutate", mutant=mutant)
        if load.hurt:
            await load.hurt(server)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(workload.history.operations) < load.operations:
                workload.require_agents_alive()
                await asyncio.sleep(0.01)
        await workload.stop_agents()
        if mutant:
            server.command(do="heal")
        await wait_for_followers(workload, await last_numbers_of_file(database), seconds=1)
    finally:
        await workload.stop_followers()
    state = stored.read_sqlite(database, settings.projects[0])
    return checker.find_violations(workload.history, state, settings.lease_seconds, clock_error=0)
