"""`commonplace admin distribute`: spread a database over the nodes of Citus. The steps are in `store/citus.py`."""

import argparse
import asyncio
import sys

from commonplace import config, errors
from commonplace.store import citus
from commonplace.store.migrate import apply_migration_files
from commonplace.store.postgres import Postgres

_NO_CITUS_HINT = "Install Citus on every node, add it to shared_preload_libraries, and restart PostgreSQL."


def run(arguments: argparse.Namespace) -> int:
    settings = config.read_settings(vars(arguments))
    if settings.store == "sqlite":
        raise errors.Invalid(
            "Only a PostgreSQL database can be distributed.",
            hint="Pass --store postgresql://user@coordinator/database.",
        )
    return asyncio.run(_distribute(settings.store, is_dry_run=arguments.dry_run, is_confirmed=arguments.yes))


async def _distribute(dsn: str, *, is_dry_run: bool, is_confirmed: bool) -> int:
    plan = await citus.plan_distribution(dsn)
    if not plan.has_citus and not plan.can_create_citus:
        raise errors.Unavailable("Citus is not installed on this PostgreSQL server.", hint=_NO_CITUS_HINT)
    for line in _render_plan(plan):
        print(line)
    if is_dry_run:
        return 0
    if plan.pending and not is_confirmed:
        _require_consent(plan)
    await _migrate_schema(dsn)
    done = await citus.distribute_database(dsn, lambda text: print(text, flush=True))
    print(f"Distributed {done} tables. The servers can be started.")
    return 0


def _render_plan(plan: citus.DistributionPlan) -> list[str]:
    nodes = (
        f"{plan.workers} worker nodes" if plan.workers else "no workers: all shards stay on the coordinator"
    )
    lines = [f"Citus: {nodes}." if plan.has_citus else "Citus: available; the extension will be created."]
    lines.append(f"{plan.placed_tables} tables are distributed, {len(plan.pending)} are not.")
    lines += [f"  to distribute: {table.to_text()}" for table in plan.pending]
    lines += [
        f"  to free on the coordinator: {table.name}, {table.bytes // 1024} KB" for table in plan.leftovers
    ]
    if plan.servers:
        lines.append(
            f"Warning: servers are connected ({plan.servers} connections). Stop them: calls that write"
            " fail while their table moves."
        )
    return lines


def _require_consent(plan: citus.DistributionPlan) -> None:
    if not sys.stdin.isatty():
        raise errors.Invalid("Distributing changes the database.", hint="Run it again with --yes.")
    print(f"Distribute {len(plan.pending)} tables now? Make a backup first. [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise errors.Invalid("Nothing was changed.")


async def _migrate_schema(dsn: str) -> None:
    """A database without tables gets them first."""
    store = await Postgres.open(dsn, pool=1)
    try:
        await apply_migration_files(store)
    finally:
        await store.close()
