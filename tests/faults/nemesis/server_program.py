"""Starts servers as processes that a test can hurt: `python -m nemesis.server_program`.

It imports the product once and forks a process for each server, so that a restart costs a fraction of a second. Each
line of standard input is the JSON of a `ServerStart`; the answer is the process id. A server listens for commands on a
Unix socket of its own: set its clock, fill its disk, apply a mutant (`mutants.py`).
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from typing import Any

from commonplace import clock

_wall_clock = clock.read_wall_clock


@dataclass
class HurtClock:
    """The clock of the machine as the server sees it."""

    shift_microseconds: int = 0

    def read(self) -> int:
        return _wall_clock() + self.shift_microseconds


CLOCK = HurtClock()
# Before anything of the product imports the function by its name.
clock.read_wall_clock = CLOCK.read

import apsw  # noqa: E402 - see above

from commonplace import __main__ as product_main  # noqa: E402
from commonplace import activity  # noqa: E402
from commonplace.cli import serve as _serve  # noqa: E402, F401 - everything that a server needs
from commonplace.edges import application as _application  # noqa: E402, F401
from commonplace.edges.http import listener as _listener  # noqa: E402, F401
from commonplace.rooms.locks import model as leases  # noqa: E402
from commonplace.rooms.locks import operations as lock_operations  # noqa: E402
from commonplace.rooms.locks import store as lock_store  # noqa: E402
from commonplace.rooms.locks import waiting as lock_waiting  # noqa: E402
from commonplace.store import postgres_tx, sqlite  # noqa: E402
from nemesis import mutants, power_cut  # noqa: E402
from nemesis.lease_checker import RESERVATION_SHARE  # noqa: E402
from nemesis.server_start import DATABASE_CLOCK_TABLE, ServerStart  # noqa: E402


def shorten_leases(seconds: float) -> None:
    second = int(seconds * clock.SECOND)
    lock_operations.MINUTE = second
    leases.TAKEOVER_DELAY = lock_store.TAKEOVER_DELAY = second // 4
    lock_waiting.TURN = int(second * RESERVATION_SHARE)
    activity._TOUCH_INTERVAL_MICROSECONDS = second // 12


def shift_database_clock() -> None:
    postgres_tx._CLOCK = (
        "select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)"
        f" + (select microseconds from {DATABASE_CLOCK_TABLE}) as now"
    )


class FullDisk:
    """A SQLite database that may not grow: every page more is refused as on a full disk."""

    def __init__(self) -> None:
        self.is_full = False
        self._applied = False
        commit, again = sqlite._in_one_commit, self._apply

        def in_one_commit(jobs: Any, tx: sqlite.SqliteTx) -> Any:
            again(tx)
            return commit(jobs, tx)

        sqlite._in_one_commit = in_one_commit

    def _apply(self, tx: sqlite.SqliteTx) -> None:
        if self._applied == self.is_full:
            return
        connection: apsw.Connection = tx._connection
        connection.pragma("max_page_count", connection.pragma("page_count") if self.is_full else 1 << 30)
        self._applied = self.is_full


def obey_commands(listening: socket.socket, disk: FullDisk) -> None:
    while True:
        peer, _ = listening.accept()
        with peer, peer.makefile("rw") as lines:
            for line in lines:
                _obey(json.loads(line), disk)
                lines.write("done\n")
                lines.flush()


def _obey(command: dict[str, Any], disk: FullDisk) -> None:
    match command["do"]:
        case "clock":
            CLOCK.shift_microseconds = int(command["seconds"] * clock.SECOND)
        case "fill":
            disk.is_full = bool(command["full"])
        case "mutate":
            mutants.apply(command["mutant"])
        case "heal":
            mutants.undo()


def run_server(start: ServerStart) -> None:
    log = os.open(start.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    CLOCK.shift_microseconds = int(start.clock_seconds * clock.SECOND)
    if start.lease_seconds:
        shorten_leases(start.lease_seconds)
    if start.has_database_clock:
        shift_database_clock()
    if start.unsynced:
        power_cut.note_unsynced_writes(start.unsynced)
    for mutant in start.mutants:
        mutants.apply(mutant)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(start.control)
    listening.listen()
    threading.Thread(target=obey_commands, args=(listening, FullDisk()), daemon=True).start()
    code = 1
    try:
        code = product_main.main(start.arguments)
    finally:
        sys.stdout.flush()
        os._exit(code)


def _forget_ended(*_: object) -> None:
    """Nobody else waits for a killed server."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    signal.signal(signal.SIGCHLD, _forget_ended)
    gc.collect()
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        start = ServerStart(**json.loads(line))
        if (pid := os.fork()) == 0:
            run_server(start)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
