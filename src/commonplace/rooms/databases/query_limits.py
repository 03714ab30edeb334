"""Limits on queries to a registered database: how many at once, how long, and a pause after many timeouts."""

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import Any

from commonplace import errors
from commonplace.rooms.databases.store import RegisteredDatabase
from commonplace.sqlguard import DIALECTS, CheckedStatement
from commonplace.sqlguard.query_rows import QueryRows, query_too_large

_MAX_QUERIES_PER_AGENT = 2
_MAX_QUERIES_PER_DATABASE = 4
_MAX_RECENT_TIMEOUTS = 5
_PAUSE_SECONDS = 60
_RIGHTS_CACHE_SECONDS = 3600
_UNREACHABLE_CACHE_SECONDS = 30
_RIGHTS_TIMEOUT_SECONDS = 3
# The database's own limit should be reached first, because then the query has certainly ended.
_MARGIN_SECONDS = 0.25


@dataclass(frozen=True)
class LoginRights:
    """The rights that a login should not have, or that the database did not answer."""

    unsafe: tuple[str, ...] = ()
    unreachable: bool = False


@dataclass
class QueryLimiter:
    """The running queries of this process to one database."""

    database: RegisteredDatabase
    running_by_agent: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    recent_timeouts: deque[float] = field(default_factory=lambda: deque(maxlen=_MAX_RECENT_TIMEOUTS))
    login: LoginRights | None = None
    login_checked_at: float = 0

    async def run_query(
        self, agent: str, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any] = ()
    ) -> QueryRows:
        """Run a statement within the limits; at the timeout it is cancelled in the database."""
        seconds = self.database.timeout_seconds
        async with self._reserve_slot(agent):
            query = DIALECTS[self.database.dialect].run_query(self.database, checked, max_rows, parameters)
            try:
                async with asyncio.timeout(seconds + _MARGIN_SECONDS):
                    rows = await query
            except TimeoutError:
                self.recent_timeouts.append(monotonic())
                raise query_too_large(
                    f"The query to '{self.database.name}' was cancelled after {seconds:g} s."
                ) from None
        return rows

    @contextlib.asynccontextmanager
    async def _reserve_slot(self, agent: str) -> AsyncIterator[None]:
        name = self.database.name
        if (
            self.running_by_agent[agent] >= _MAX_QUERIES_PER_AGENT
            or sum(self.running_by_agent.values()) >= _MAX_QUERIES_PER_DATABASE
        ):
            raise errors.TooMany(
                f"Too many queries to '{name}' are running.", hint="Retry when one has finished."
            )
        if (
            len(self.recent_timeouts) == _MAX_RECENT_TIMEOUTS
            and monotonic() - self.recent_timeouts[0] < _PAUSE_SECONDS
        ):
            raise errors.TooMany(
                f"{_MAX_RECENT_TIMEOUTS} queries to '{name}' timed out within a minute.",
                hint="Retry in a minute with a narrower query.",
            )
        self.running_by_agent[agent] += 1
        try:
            yield
        finally:
            self.running_by_agent[agent] -= 1
            if not self.running_by_agent[agent]:
                del self.running_by_agent[agent]

    async def check_login(self) -> LoginRights:
        """Which rights the login has besides reading; cached for an hour."""
        cache_seconds = (
            _UNREACHABLE_CACHE_SECONDS if self.login and self.login.unreachable else _RIGHTS_CACHE_SECONDS
        )
        if self.login is None or monotonic() - self.login_checked_at > cache_seconds:
            self.login, self.login_checked_at = await self._load_login_rights(), monotonic()
        return self.login

    async def _load_login_rights(self) -> LoginRights:
        try:
            async with asyncio.timeout(_RIGHTS_TIMEOUT_SECONDS):
                return LoginRights(
                    tuple(await DIALECTS[self.database.dialect].list_excess_rights(self.database))
                )
        except (TimeoutError, errors.Refusal):
            return LoginRights(unreachable=True)


@cache
def query_limiter(database: RegisteredDatabase) -> QueryLimiter:
    return QueryLimiter(database)
