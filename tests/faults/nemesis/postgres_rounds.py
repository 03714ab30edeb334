"""Rounds of three servers on one PostgreSQL, and on a primary with its standby."""

import contextlib
import random
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

from bench.postgres_relay import PostgresRelay

from nemesis import stored
from nemesis.postgres_faults import PairWorld, PostgresWorld, connect_as_operator
from nemesis.postgres_pair import PostgresPair
from nemesis.run import (
    RoundPlan,
    RoundResult,
    World,
    find_logged_errors,
    judge,
    last_numbers_of_database,
    project_pattern,
    temporary_folder,
    verify_audit,
    work_through,
)
from nemesis.server_start import DATABASE_CLOCK_TABLE
from nemesis.servers import Launcher, ServerProcess
from nemesis.workload import Workload
from postgres_process import PostgresProcess

SERVERS = 3


async def run_on_postgres(launcher: Launcher, postgres: PostgresProcess, plan: RoundPlan) -> RoundResult:
    async with _database(postgres) as dsn, PostgresRelay(dsn).run() as relay:
        with temporary_folder() as folder:
            addresses = [dsn] * (SERVERS - 1) + [relay.dsn]
            servers = build_servers(launcher, folder, addresses, plan)
            for server in servers:
                server.has_database_clock = True
            chance = random.Random(f"{plan.seed} faults")
            world = PostgresWorld(servers, chance, postgres, relay, dsn)
            return await run_servers(world, plan, dsn)


async def run_on_pair(launcher: Launcher, pair: PostgresPair, plan: RoundPlan) -> RoundResult:
    database = f"nemesis_{uuid.uuid4().hex[:8]}"
    await pair.execute(f"create database {database}")
    dsn = pair.list_hosts(database)
    with temporary_folder() as folder:
        servers = build_servers(launcher, folder, [dsn] * SERVERS, plan)
        world = PairWorld(servers, random.Random(f"{plan.seed} faults"), pair)
        result = await run_servers(world, plan, dsn)
    await pair.execute(f"drop database {database} with (force)")
    return result


def build_servers(
    launcher: Launcher, folder: Path, addresses: list[str], plan: RoundPlan
) -> list[ServerProcess]:
    servers = [
        ServerProcess(
            launcher,
            folder / str(n),
            ["--data", str(folder / str(n) / "data"), "--store", address],
            plan.settings.lease_seconds,
        )
        for n, address in enumerate(addresses)
    ]
    for server in servers:
        server.mutants = plan.mutants
    return servers


async def run_servers(world: World, plan: RoundPlan, dsn: str) -> RoundResult:
    workload = Workload([server.port for server in world.servers], plan.settings, plan.seed)
    try:
        for server in world.servers:
            server.start()
        for server in world.servers:
            await server.wait_until_ready()
        problems = await work_through(world, workload, plan, lambda: last_numbers_of_database(dsn))
        if problems:
            return RoundResult(plan, workload.history, problems, world.kills)
        problems = await verify_audit(world.servers[0].port, plan.settings.projects)
        for server in world.servers:
            await server.stop()
        state = await stored.read_postgres(dsn, project_pattern(plan))
        problems += find_logged_errors(world)
    finally:
        for server in world.servers:
            server.close()
    return judge(world, workload, plan, state, problems)


@contextlib.asynccontextmanager
async def _database(postgres: PostgresProcess) -> AsyncIterator[str]:
    """An empty database with a clock that can be set."""
    name = f"nemesis_{uuid.uuid4().hex[:8]}"
    connection = await connect_as_operator(postgres.dsn)
    await connection.execute(f"create database {name}")
    await connection.close()
    dsn = postgres.dsn.replace("/postgres?", f"/{name}?")
    connection = await connect_as_operator(dsn)
    await connection.execute(
        f"create table {DATABASE_CLOCK_TABLE} (microseconds bigint not null);"
        f" insert into {DATABASE_CLOCK_TABLE} values (0)"
    )
    await connection.close()
    try:
        yield dsn
    finally:
        connection = await connect_as_operator(postgres.dsn)
        await connection.execute(f"drop database {name} with (force)")
        await connection.close()
