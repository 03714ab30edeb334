"""Events are numbered without gaps in the order of commits: with many writers, several replicas and killed processes."""

import asyncio
import http.client
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import product
from commonplace import errors, events
from commonplace.store.database import Database, Tx
from commonplace.store.postgres import Postgres
from patience import PATIENCE_SECONDS
from team import PATIENT_TIMEOUTS

WRITERS = 12
WRITES = 15


@pytest.fixture
async def replicas(database: Database) -> AsyncIterator[list[Database]]:
    """Three stores of one PostgreSQL; SQLite has one process."""
    if not isinstance(database, Postgres):
        yield [database]
        return
    opened = [await Postgres.open(database.dsn, pool=3, timeouts=PATIENT_TIMEOUTS) for _ in range(2)]
    yield [database, *opened]
    for store in opened:
        await store.close()


async def test_reader_never_misses_a_number_while_replicas_write(replicas: list[Database]):
    read: list[events.Event] = []
    written = asyncio.Event()

    async def follow() -> None:
        while True:
            is_last = written.is_set()
            page = await replicas[-1].read(lambda tx: events.list_events_after(tx, "shop", len(read)))
            read.extend(page)
            if is_last and not page:
                return

    async def write(writer: int) -> None:
        for n in range(WRITES):

            async def work(tx: Tx, n: int = n) -> None:
                count = 1 + (writer + n) % 3
                body = {"writer": writer, "n": n}
                own = [events.Event("shop", "Tested", "test://shop", body=body) for _ in range(count)]
                await events.append_events(tx, [*own, events.Event("other", "Tested", "test://other")])
                if (writer + n) % 7 == 0:
                    raise errors.Conflict

            try:
                await replicas[writer % len(replicas)].write(work)
            except errors.Conflict:
                continue

    following = asyncio.create_task(follow())
    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    written.set()
    await asyncio.wait_for(following, PATIENCE_SECONDS)
    assert [event.n for event in read] == list(range(1, len(read) + 1))
    kept = [(writer, n) for writer in range(WRITERS) for n in range(WRITES) if (writer + n) % 7]
    assert sorted((event.body["writer"], event.body["n"]) for event in read) == sorted(
        (writer, n) for writer, n in kept for _ in range(1 + (writer + n) % 3)
    )
    for writer in range(WRITERS):
        own = [event.body["n"] for event in read if event.body["writer"] == writer]
        assert own == sorted(own)


class Locker(threading.Thread):
    """Locks one file after the other, and remembers what was acknowledged."""

    def __init__(self, server: product.Product, name: str) -> None:
        super().__init__(daemon=True)
        self.server, self.agent = server, name
        self.session = server.call("memory_start_session", project="shop", claude_instance=name)["session_id"]
        self.locked: list[str] = []
        self.busy, self.stopping = threading.Event(), threading.Event()

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                path = f"{self.agent}/{len(self.locked)}.py"
                self.server.call("memory_lock_files", session_id=self.session, files=[path])
                self.locked.append(path)
                if len(self.locked) == 5:
                    self.busy.set()
        except (OSError, http.client.HTTPException):
            return


class Follower(threading.Thread):
    """Reads GET /events from the first event on, until it has seen all of `wanted`."""

    def __init__(self, server: product.Product) -> None:
        super().__init__(daemon=True)
        self._address = server.url.removeprefix("http://")
        self.numbers: list[int] = []
        self.text = ""
        self.wanted: set[str] = set()
        self.has_all = threading.Event()

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/events?project=shop", headers={"Last-Event-ID": "0"})
        stream = connection.getresponse()
        while not self.has_all.is_set():
            line = stream.readline().decode()
            if line.startswith("id:"):
                self.numbers.append(int(line[3:]))
            self.text += line if line.startswith("data:") else ""
            if self.wanted and all(path in self.text for path in self.wanted):
                self.has_all.set()
        connection.close()


@pytest.mark.slow
def test_killed_process_leaves_no_gap_and_loses_no_event(address: Path | str, tmp_path: Path):
    with ExitStack() as servers:

        def start() -> product.Product:
            flags = product.store_flags(address, tmp_path / f"client{len(lockers)}")
            return servers.enter_context(product.running(*flags))

        lockers: list[Locker] = []
        killed = start()
        lockers += [Locker(killed, f"agent{n}") for n in range(3)]
        living = start() if isinstance(address, str) else None
        lockers += [Locker(living, f"neighbour{n}") for n in range(3) if living]
        for locker in lockers:
            locker.start()
        assert all(locker.busy.wait(PATIENCE_SECONDS) for locker in lockers)
        killed.kill()
        for locker in lockers:
            locker.stopping.set()
            locker.join(PATIENCE_SECONDS)
        follower = Follower(living or start())
        follower.wanted = {path for locker in lockers for path in locker.locked}
        follower.start()
        assert follower.has_all.wait(PATIENCE_SECONDS)
    assert follower.numbers == list(range(1, len(follower.numbers) + 1))
