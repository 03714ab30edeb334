"""On a real Citus: every statement that the product sent during other tests touches one shard.

`make citus DSN=...` runs the suites of the store and the rooms, which write their statements into a file, and then this.
"""

import json
import os
from pathlib import Path

import asyncpg
import pytest

from citus_cluster import CitusCluster

STATEMENTS = os.environ.get("TEST_STATEMENTS", "")
pytestmark = pytest.mark.skipif(
    not (STATEMENTS and os.environ.get("TEST_CITUS_DSN")), reason="make citus DSN=... names a cluster"
)

BACKGROUND_SWEEPS: dict[str, str] = {}


async def test_every_statement_touches_one_shard(citus_cluster: CitusCluster):
    tasks, refused, callers = dict[str, int](), dict[str, str](), dict[str, str]()
    for line in Path(STATEMENTS).read_text().splitlines():
        caller, sql, example = json.loads(line)
        callers.setdefault(sql, caller)
        try:
            tasks[sql] = max(tasks.get(sql, 0), await citus_cluster.count_tasks(example))
        except asyncpg.PostgresError as refusal:
            refused[sql] = f"{caller}: {refusal}"
    report = [{"tasks": tasks.get(sql, -1), "caller": callers[sql], "sql": sql} for sql in callers]
    Path(f"{STATEMENTS}.report").write_text("\n".join(map(json.dumps, report)))
    spread = {
        sql: (callers[sql], count)
        for sql, count in tasks.items()
        if count > 1 and callers[sql].rpartition(":")[0] not in BACKGROUND_SWEEPS
    }
    assert callers
    assert (refused, spread) == ({}, {})
