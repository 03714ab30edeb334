"""Who sent a request of the web page: the caller of the session that its cookie names.

A cookie is sent by the browser without being asked, so a request that may write also needs the CSRF token, which only a
page of this server can read. Sessions are started and ended in sign_in.py; keys in headers are read by edges/identity.py.
"""

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from commonplace.access import LOCAL, Caller
from commonplace.clock import SECOND, Clock
from commonplace.rooms.admin import browser_sessions, store
from commonplace.rooms.admin.browser_sessions import LOCAL_KEY
from commonplace.store.database import Database, Tx

CSRF_HEADER: Final = "x-csrf-token"
_CACHE_MICROSECONDS: Final = 2 * SECOND
_MAX_CACHED_SESSIONS: Final = 10_000
_MAX_SECRET_CHARACTERS: Final = 200

FindFixedCaller = Callable[[str], Caller | None]
"""The caller of a name that is not the id of a key: the operator, or a token of the environment."""


class BrowserCallers:
    """Finds the callers of cookies. A session that was ended is refused at once on every replica: see `forget`."""

    def __init__(
        self, database: Database, clock: Clock, find_fixed_caller: FindFixedCaller, *, needs_key: bool
    ) -> None:
        self._database, self._clock = database, clock
        self._find_fixed_caller, self._needs_key = find_fixed_caller, needs_key
        self._cached: OrderedDict[str, tuple[Caller, int]] = OrderedDict()
        self._generation = 0

    def forget(self) -> None:
        self._cached.clear()
        self._generation += 1

    async def find_caller(self, headers: Mapping[str, str], *, is_safe: bool) -> Caller | None:
        """The caller of the cookie; None without a live session, or if a request that may write lacks the token."""
        secret = read_session_cookie(headers)
        if not secret:
            return None
        token = headers.get(CSRF_HEADER, "").encode("utf-8", "surrogatepass")
        if not is_safe and not hmac.compare_digest(token, derive_csrf_token(secret).encode()):
            return None
        return await self.find_session_caller(secret)

    async def find_session_caller(self, secret: str) -> Caller | None:
        now, generation = self._clock(), self._generation
        digest = store.hash_secret(secret)
        caller, until = self._cached.get(digest, (None, 0))
        if caller is not None and now < until:
            return caller
        caller = await self._load_caller("session", secret)
        if caller is not None and generation == self._generation:
            self._cached[digest] = (caller, now + _CACHE_MICROSECONDS)
            if len(self._cached) > _MAX_CACHED_SESSIONS:
                self._cached.popitem(last=False)
        return caller

    async def find_link_caller(self, code: str) -> Caller | None:
        return await self._load_caller("link", code)

    async def _load_caller(self, kind: str, secret: str) -> Caller | None:
        if len(secret) > _MAX_SECRET_CHARACTERS:
            return None
        now = self._clock()

        async def load(tx: Tx) -> tuple[str, str, Caller | None] | None:
            row = await browser_sessions.find_browser_secret(tx, kind, secret, now)
            return (
                (row["key_id"], row["agent"], await store.find_caller_by_key_id(tx, row["key_id"], now))
                if row
                else None
            )

        found = await self._database.read(load)
        if found is None:
            return None
        key_id, agent, keyed = found
        caller = keyed or self._find_unkeyed(key_id)
        return replace(caller, agent=agent) if caller else None

    def _find_unkeyed(self, key_id: str) -> Caller | None:
        if key_id == LOCAL_KEY and not self._needs_key:
            return LOCAL
        return self._find_fixed_caller(key_id)


def name_cookie(headers: Mapping[str, str]) -> str:
    """Browsers send cookies to every port of a host: the port in the name keeps two servers apart."""
    _, _, port = headers.get("host", "").rpartition("]")[2].rpartition(":")
    return f"commonplace_{port}" if port.isascii() and port.isdigit() else "commonplace"


def read_session_cookie(headers: Mapping[str, str]) -> str:
    wanted = name_cookie(headers)
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value[:_MAX_SECRET_CHARACTERS]
    return ""


def derive_csrf_token(secret: str) -> str:
    """Bound to the session, so that it need not be stored."""
    return hmac.new(secret.encode("utf-8", "surrogatepass"), b"csrf", hashlib.sha256).hexdigest()
