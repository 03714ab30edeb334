"""`commonplace admin migrate`: bring a database to the schema of this version, or show what that would do."""

import argparse
import asyncio

from commonplace import config, errors
from commonplace.clock import read_wall_clock
from commonplace.config import Settings
from commonplace.server import open_store
from commonplace.store.database import Kind
from commonplace.store.migrate import MigrationPlan, migrate, plan_migrations
from commonplace.store.migration_kinds import strip_comments

_WORDS = {"additive": "adds to the schema", "data": "CHANGES DATA"}


def run(arguments: argparse.Namespace) -> int:
    return asyncio.run(_migrate(config.read_settings(vars(arguments)), arguments))


async def _migrate(settings: Settings, arguments: argparse.Namespace) -> int:
    database = await open_store(settings, read_wall_clock)
    try:
        plan = await plan_migrations(database)
        for line in render_plan(plan, database.kind):
            print(line)
        if arguments.dry_run:
            return 0
        if plan.changing and not arguments.yes:
            raise errors.Invalid("Nothing was changed.", hint="Back up, then run it again with --yes.")
        applied = await migrate(database, is_confirmed=True, without_copy=arguments.without_copy)
    finally:
        await database.close()
    print(f"{applied} migrations were applied." if applied else "The schema is up to date.")
    return 0


def render_plan(plan: MigrationPlan, kind: Kind) -> list[str]:
    """What would run: every migration with its kind, and the statements of those that change data."""
    newest = plan.pending[-1].n if plan.pending else plan.schema
    lines = [f"The database has schema {plan.schema}; this version has {newest}."]
    for migration in plan.pending:
        lines.append(f"{migration.n:04} {migration.name}: {_WORDS[migration.find_kind(kind)]}")
        if migration in plan.changing:
            lines += [
                f"       {' '.join(strip_comments(text).split())}" for text in migration.statements(kind)
            ]
    return lines
