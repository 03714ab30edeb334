"""Who calls: a key from the Authorization header, the local operator, or, while keys are off, anybody on this machine.

An unknown, a revoked, an expired and a missing key are answered alike, by the same steps.
"""

import asyncio
import contextlib
import hmac
import logging
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote_to_bytes

import pydantic

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.clock import MINUTE, SECOND, Clock
from commonplace.config import Settings
from commonplace.events import Bus
from commonplace.rooms.admin import store
from commonplace.rooms.agents.model import AgentName
from commonplace.store.database import Database

_log = logging.getLogger(__name__)

_CACHED_FOR = 2 * SECOND
_CACHED_KEYS = 10_000
_FAILURES = 10
_ADDRESSES = 10_000
_USED_SECONDS = 60
_LONGEST = 4096
_AGENT: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(AgentName)


class Identity:
    """Asked once per request, by every route. Open it with the bus so that a revoked key is forgotten at once."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        clock: Clock,
        *,
        operator_token: str = "",
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._database, self._settings, self._clock = database, settings, clock
        self._fixed = _fixed_callers(operator_token, environ)
        self._known: OrderedDict[str, tuple[Caller, int]] = OrderedDict()
        self._forgotten = 0
        self._failures = _Failures()
        self._used: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    def open(self, bus: Bus) -> None:
        bus.watch(access.SHARED, self.forget)
        self._task = asyncio.create_task(self._flush_for_ever())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        with contextlib.suppress(errors.Unavailable):
            await self.flush()

    async def identify(self, headers: Mapping[str, str], address: str = "", query: bytes = b"") -> Caller:
        """The caller of a request, by its headers (names in lower case); a key in the address is refused."""
        secret = _bearer(headers)
        caller = await self._holder(secret) if secret or self._settings.auth_on else None
        in_query = bool(query) and b"api_key=" in unquote_to_bytes(query).lower()
        if in_query:
            caller = None
        elif caller is None and not self._settings.auth_on:
            caller = access.LOCAL
        if caller is None:
            reason = "key in the address" if in_query else "unknown key" if secret else "no key"
            # Its words are documented for fail2ban and its like: they stay as they are.
            _log.warning("unauthenticated", extra={"address": address, "reason": reason})
            raise self._failures.refusal(address, self._clock())
        return caller if self._settings.auth_on else _named(caller, headers.get("x-agent-id"))

    def forget(self) -> None:
        """A key was revoked, here or by another replica; what is being looked up right now is not kept either."""
        self._known.clear()
        self._forgotten += 1

    async def flush(self) -> None:
        """Write down when keys were last used."""
        used, self._used = self._used, {}
        if used:
            await self._database.write(lambda tx: store.mark_keys_used(tx, used.items()))

    async def _holder(self, secret: str) -> Caller | None:
        hashed = store.hash_secret(secret)
        fixed = [caller for known, caller in self._fixed if hmac.compare_digest(known, hashed)]
        caller = fixed[0] if fixed else self._cached(hashed) or await self._look_up(secret, hashed)
        if caller is not None and not fixed:
            self._used[caller.key] = self._clock()
        return caller

    def _cached(self, hashed: str) -> Caller | None:
        caller, until = self._known.get(hashed, (None, 0))
        return caller if self._clock() < until else None

    async def _look_up(self, secret: str, hashed: str) -> Caller | None:
        now, forgotten = self._clock(), self._forgotten
        caller = await self._database.read(lambda tx: store.find_caller_by_secret(tx, secret, now))
        if caller is not None and forgotten == self._forgotten:
            self._known[hashed] = (caller, now + _CACHED_FOR)
            self._known.move_to_end(hashed)
            if len(self._known) > _CACHED_KEYS:
                self._known.popitem(last=False)
        return caller

    async def _flush_for_ever(self) -> None:
        while True:
            await asyncio.sleep(_USED_SECONDS)
            with contextlib.suppress(errors.Unavailable):
                await self.flush()


class _Failures:
    """Counts wrong keys by address for a minute; a right key is never held up."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def refusal(self, address: str, now: int) -> errors.Refusal:
        since, count = self._counts.get(address, (now, 0))
        since, count = (since, count + 1) if now - since < MINUTE else (now, 1)
        self._counts[address] = (since, count)
        self._counts.move_to_end(address)
        if len(self._counts) > _ADDRESSES:
            self._counts.popitem(last=False)
        if count > _FAILURES:
            left = (since + MINUTE - now) // SECOND + 1
            return errors.TooMany(
                "Too many wrong keys from this address.", hint="Wait a minute.", retry_after=left
            )
        return errors.Unauthenticated(hint="Send a live key: Authorization: Bearer smk_...")


def _fixed_callers(operator_token: str, environ: Mapping[str, str]) -> list[tuple[str, Caller]]:
    """Tokens that are no rows of the store, as digests: they are compared as long as any key is."""
    everywhere = frozenset({access.EVERY})
    named = (
        (operator_token, access.OPERATOR),
        (environ.get("MCP_TOKEN", ""), Caller("agent", everywhere, "MCP_TOKEN")),
        (environ.get("SYNC_TOKEN", ""), Caller("sync", everywhere, "SYNC_TOKEN")),
    )
    return [(store.hash_secret(token), caller) for token, caller in named if token]


def _bearer(headers: Mapping[str, str]) -> str:
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip()[:_LONGEST] if scheme.lower() == "bearer" else ""


def _named(caller: Caller, agent: str | None) -> Caller:
    """While keys are off a caller may say who it is; a key's own agent stands."""
    if not agent or caller.agent is not None:
        return caller
    try:
        return replace(caller, agent=_AGENT.validate_python(agent))
    except pydantic.ValidationError:
        raise errors.Invalid(
            "X-Agent-Id is not an agent's name.", hint="Letters, digits and . @ : + - _"
        ) from None
