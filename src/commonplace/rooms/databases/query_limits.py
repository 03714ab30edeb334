"""Where questions to registered databases pass: how many at once, for how long, and a rest after many timeouts."""

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import Any

from commonplace import errors
from commonplace.rooms.databases.config import Registered
from commonplace.sqlguard import Checked
from commonplace.sqlguard.engines import engine
from commonplace.sqlguard.engines.rows import Rows, too_slow

_PER_AGENT = 2
_PER_DATABASE = 4
_TIMEOUTS = 5
_REST_SECONDS = 60
_RIGHTS_SECONDS = 3600
_UNKNOWN_SECONDS = 30
_LOOK_SECONDS = 3
# The database's own limit is to end the query first: then it is known to have ended.
_MARGIN_SECONDS = 0.25


@dataclass(frozen=True)
class Login:
    """What is known of a login: the rights that it should not have, or that the database did not answer."""

    unsafe: tuple[str, ...] = ()
    unreachable: bool = False


@dataclass
class Desk:
    """The questions of this process to one database."""

    database: Registered
    agents: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    timeouts: deque[float] = field(default_factory=lambda: deque(maxlen=_TIMEOUTS))
    login: Login | None = None
    looked_at: float = 0

    async def ask(self, agent: str, checked: Checked, most: int, parameters: Sequence[Any] = ()) -> Rows:
        """Run it within the limits; what is still running when they end is cancelled in the database."""
        seconds = self.database.timeout
        async with self._place(agent):
            asking = engine(self.database.dialect).ask(self.database, checked, most, parameters)
            try:
                async with asyncio.timeout(seconds + _MARGIN_SECONDS):
                    rows: Rows = await asking
            except TimeoutError:
                self.timeouts.append(monotonic())
                raise too_slow(self.database.name, seconds) from None
        return rows

    @contextlib.asynccontextmanager
    async def _place(self, agent: str) -> AsyncIterator[None]:
        name = self.database.name
        if self.agents[agent] >= _PER_AGENT or sum(self.agents.values()) >= _PER_DATABASE:
            raise errors.TooMany(
                f"'{name}' is answering as many queries as it may.", hint="Wait for an answer."
            )
        if len(self.timeouts) == _TIMEOUTS and monotonic() - self.timeouts[0] < _REST_SECONDS:
            raise errors.TooMany(
                f"{_TIMEOUTS} queries to '{name}' ran out of time within a minute.", hint="Try in a minute."
            )
        self.agents[agent] += 1
        try:
            yield
        finally:
            self.agents[agent] -= 1
            if not self.agents[agent]:
                del self.agents[agent]

    async def look(self) -> Login:
        """Which rights the login has beyond reading; asked once an hour."""
        lasts = _UNKNOWN_SECONDS if self.login and self.login.unreachable else _RIGHTS_SECONDS
        if self.login is None or monotonic() - self.looked_at > lasts:
            self.login, self.looked_at = await self._rights(), monotonic()
        return self.login

    async def _rights(self) -> Login:
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                return Login(tuple(await engine(self.database.dialect).rights(self.database)))
        except (TimeoutError, errors.Refusal):
            return Login(unreachable=True)


@cache
def desk(database: Registered) -> Desk:
    return Desk(database)
