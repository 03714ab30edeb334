"""What happens to one server with SQLite: kill -9, loss of power, a pause, a full disk, a clock that is set."""

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from nemesis.power_cut import cut_power
from nemesis.servers import ServerProcess

HOUR_SECONDS = 3600


class SqliteWorld:
    """One server on one file."""

    def __init__(self, server: ServerProcess, database: Path, chance: random.Random) -> None:
        self.servers = [server]
        self._server, self._database, self._chance = server, database, chance
        self.kills = 0
        self.lost_bytes = 0

    def list_faults(self) -> dict[str, Callable[[], Awaitable[None]]]:
        return {
            "kill": self.kill,
            "kill at start": self.kill_at_start,
            "restart": self.restart,
            "power cut": self.cut_power,
            "freeze": self.freeze,
            "full disk": self.fill_disk,
            "clock": self.set_clock,
        }

    async def kill(self) -> None:
        await self._server.kill()
        self.kills += 1
        self._server.start()

    async def kill_at_start(self) -> None:
        """Again and again before it is ready: what a start changes must survive that as well."""
        for _ in range(3):
            await self.kill()
            await asyncio.sleep(self._chance.uniform(0.0, 0.6))

    async def restart(self) -> None:
        await self._server.stop()
        self._server.start()

    async def cut_power(self) -> None:
        await self._server.kill()
        self.kills += 1
        self.lost_bytes += cut_power(self._database, self._server.unsynced)
        self._server.start()

    async def freeze(self) -> None:
        self._server.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(self._chance.uniform(0.2, 2.0))
        finally:
            self._server.send(signal.SIGCONT)

    async def fill_disk(self) -> None:
        self._server.command(do="fill", full=True)
        await asyncio.sleep(self._chance.uniform(0.2, 1.0))
        self._server.command(do="fill", full=False)

    async def set_clock(self) -> None:
        """Forward or back by hours; it stays so, also over a restart."""
        self._server.clock_seconds += self._chance.choice((-3, -1, 1, 5)) * HOUR_SECONDS
        self._server.command(do="clock", seconds=self._server.clock_seconds)
        await asyncio.sleep(self._chance.uniform(0.1, 0.5))
