"""Who calls, and from which window: a key, an access token, the local operator or, without keys, any local program.

Unknown, revoked and expired keys get the same answer by the same steps, and are counted. A missing key gets it too, but
is not a guess and is not counted: programs that nobody has given a key yet would be told that theirs is wrong. `Identity` adds what headers say of the
caller's windows, `ProductHost` what MCP says, so that REST and every MCP transport agree. What a caller may do is decided
in access.py, which session acts in acting.py; keys are made and revoked in rooms/admin.
"""

import contextlib
import hmac
import logging
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol
from urllib.parse import unquote, unquote_to_bytes

import pydantic

from commonplace import access, background, errors
from commonplace.access import Caller
from commonplace.arguments import AgentName
from commonplace.clock import MINUTE, SECOND, Clock
from commonplace.config import Settings
from commonplace.edges.web.browser_caller import BrowserCallers, read_session_cookie
from commonplace.events import EventBus
from commonplace.rooms.admin import store
from commonplace.rooms.admin.browser_sessions import name_key
from commonplace.store.database import Database
from commonplace.window import (
    BRANCH_HEADER,
    BRANCH_META,
    IDEMPOTENCY_HEADER,
    IDEMPOTENCY_META,
    PROJECT_HEADER,
    SEAT_HEADER,
    SEAT_META,
    SESSION_HEADER,
    SESSION_META,
    WINDOW_HEADER,
    WINDOW_META,
    WindowKind,
    claude_call_window,
    conversation_window,
    kind_of_window,
    tool_of_client,
)

_log = logging.getLogger(__name__)

_CACHE_MICROSECONDS = 2 * SECOND
_OUTAGE_MICROSECONDS = 15 * MINUTE
_MAX_CACHED_KEYS = 10_000
_MAX_FAILURES_PER_MINUTE = 10
_MAX_ADDRESSES = 10_000
_FLUSH_INTERVAL_SECONDS = 60
_MAX_SECRET_CHARACTERS = 16 * 1024 + 1
_UNAUTHENTICATED = 401
_KEY_HINT = "Send a valid key: Authorization: Bearer smk_..."
_TOKEN_HINT = "Send a valid key (Authorization: Bearer smk_...) or an access token of the issuer."  # noqa: S105 - a hint
_AGENT_NAME: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(AgentName)
_MAX_WINDOWS: Final = 8
_MAX_TEXT_CHARACTERS: Final = 200
_SPECIFICITY: Final[Mapping[WindowKind, int]] = {"conversation": 0, "call": 1, "connection": 2}
_CLAUDE_CALL_META: Final = "claudecode/toolUseId"
_CODEX_METAS: Final = ("threadId", "sessionId")
_ORIGIN_HEADERS: Final = frozenset(
    name.lower() for name in (WINDOW_HEADER, SESSION_HEADER, SEAT_HEADER, BRANCH_HEADER, PROJECT_HEADER)
)
_SECRET_HEADERS: Final = frozenset({"authorization", "cookie"})
_READ_METAS: Final = frozenset(
    {IDEMPOTENCY_META, WINDOW_META, SESSION_META, SEAT_META, BRANCH_META, _CLAUDE_CALL_META, *_CODEX_METAS}
)


class AccessTokens(Protocol):
    """The callers of access tokens, where an issuer is configured (`edges/oauth`)."""

    def recognizes(self, secret: str) -> bool: ...
    async def find_caller(self, token: str) -> Caller | None: ...
    def format_challenge(self, error: str = "") -> str: ...
    def forget(self) -> None: ...


class Identity:
    """Every request asks it once. `open` it with the bus so that a revoked key is refused at once."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        clock: Clock,
        *,
        operator_token: str = "",
        local_token: str = "",
        environ: Mapping[str, str] = os.environ,
        tokens: AccessTokens | None = None,
    ) -> None:
        self._tokens = tokens
        self._database, self._auth_on, self._clock = database, settings.auth_on, clock
        self._is_open = settings.is_open
        self._fixed_callers = _build_fixed_callers(operator_token, local_token, environ)
        self.browsers = BrowserCallers(database, clock, self._find_fixed_caller, needs_key=not self._is_open)
        self._cached_callers: OrderedDict[str, tuple[Caller, int]] = OrderedDict()
        self._cache_generation = 0
        self._failed_keys = FailedKeyCounter()
        self._key_uses: dict[str, int] = {}
        self._flushing: background.BackgroundWork | None = None

    def open(self, bus: EventBus) -> None:
        bus.watch_project(access.SHARED, self.forget_cached_keys)
        self._flushing = background.every(_FLUSH_INTERVAL_SECONDS, self.flush_key_uses, name="key uses")

    async def close(self) -> None:
        await background.stop(self._flushing, finish=self.flush_key_uses)

    @property
    def needs_key(self) -> bool:
        return not self._is_open

    async def identify(
        self, headers: Mapping[str, str], address: str = "", query: bytes = b"", *, is_safe: bool = True
    ) -> Caller:
        """The caller of a request, by its headers (names in lower case); a key in the URL is refused.

        `is_safe` says that the request cannot write: then the cookie of the web page is enough.
        """
        if self._is_open and not query and _SECRET_HEADERS.isdisjoint(headers):
            return add_headers(_apply_agent_header(access.LOCAL, headers), headers)
        secret = _read_bearer_token(headers)
        if not secret and "cookie" in headers:
            caller = await self.browsers.find_caller(headers, is_safe=is_safe)
        else:
            caller = await self._find_caller(secret) if secret or not self._is_open else None
        in_query = bool(query) and b"api_key=" in unquote_to_bytes(query).lower()
        if in_query:
            caller = None
        elif caller is None and self._is_open:
            caller = access.LOCAL
        if caller is None and not secret and not in_query and self._tokens:
            # The first request of an OAuth client: the answer tells it where to get a token.
            raise self._add_challenge(errors.Unauthenticated(hint=_TOKEN_HINT))
        if caller is None:
            is_guess = bool(secret) or in_query or bool(read_session_cookie(headers))
            reason = "key in the address" if in_query else "unknown key" if secret else "no key"
            # The guide documents these words for fail2ban: do not change them.
            _log.warning("unauthenticated", extra={"address": address, "reason": reason})
            if not is_guess:
                raise errors.Unauthenticated(hint=_KEY_HINT)
            raise self._add_challenge(
                self._failed_keys.count_failure(address, self._clock()), "invalid_token"
            )
        if not self._auth_on:
            caller = _apply_agent_header(caller, headers)
        return add_headers(caller, headers)

    def _add_challenge(self, refusal: errors.Refusal, error: str = "") -> errors.Refusal:
        if self._tokens and refusal.status == _UNAUTHENTICATED:
            refusal.challenge = self._tokens.format_challenge(error)
        return refusal

    def count_failure(self, address: str, message: str, hint: str) -> errors.Refusal:
        """The refusal of a secret that was not sent as a key; it counts as a wrong key."""
        _log.warning("unauthenticated", extra={"address": address, "reason": "unknown link"})
        refusal = self._failed_keys.count_failure(address, self._clock())
        return errors.Unauthenticated(message, hint=hint) if refusal.status == _UNAUTHENTICATED else refusal

    def forget_cached_keys(self) -> None:
        """Clear the cache after a key was revoked, here or by another replica; running lookups are not cached."""
        self.browsers.forget()
        if self._tokens:
            self._tokens.forget()
        self._cached_callers.clear()
        self._cache_generation += 1

    async def flush_key_uses(self) -> None:
        """Store when keys were last used."""
        uses, self._key_uses = self._key_uses, {}
        if uses:
            await self._database.write(lambda tx: store.mark_keys_used(tx, uses.items()))

    def _find_fixed_caller(self, name: str) -> Caller | None:
        """The caller of a token that is not in the store, by the name that browser_sessions.name_key gives it."""
        return next((caller for _, caller in self._fixed_callers if name_key(caller) == name), None)

    async def _find_caller(self, secret: str) -> Caller | None:
        digest = store.hash_secret(secret)
        fixed = [
            caller
            for fixed_digest, caller in self._fixed_callers
            if hmac.compare_digest(fixed_digest, digest)
        ]
        if not fixed and self._tokens and self._tokens.recognizes(secret):
            caller = await self._tokens.find_caller(secret)
        else:
            caller = (
                fixed[0]
                if fixed
                else self._find_cached_caller(digest) or await self._load_caller(secret, digest)
            )
        if caller is not None and not fixed:
            self._key_uses[caller.key] = self._clock()
        return caller

    def _find_cached_caller(self, digest: str) -> Caller | None:
        caller, until = self._cached_callers.get(digest, (None, 0))
        return caller if self._clock() < until else None

    async def _load_caller(self, secret: str, digest: str) -> Caller | None:
        now, generation = self._clock(), self._cache_generation
        try:
            caller = await self._database.read(lambda tx: store.find_caller_by_secret(tx, secret, now))
        except errors.Unavailable:
            late = self._find_late_caller(digest, now)
            if late is None:
                raise
            return late
        if caller is not None and generation == self._cache_generation:
            self._cached_callers[digest] = (caller, now + _CACHE_MICROSECONDS)
            self._cached_callers.move_to_end(digest)
            if len(self._cached_callers) > _MAX_CACHED_KEYS:
                self._cached_callers.popitem(last=False)
        return caller

    def _find_late_caller(self, digest: str, now: int) -> Caller | None:
        """The caller as known before the store went away, so that /metrics answers; calls need the store anyway."""
        caller, until = self._cached_callers.get(digest, (None, 0))
        return caller if now < until + _OUTAGE_MICROSECONDS else None


class FailedKeyCounter:
    """Counts wrong keys per address and minute; a valid key is never refused for them."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def count_failure(self, address: str, now: int) -> errors.Refusal:
        since, count = self._counts.get(address, (now, 0))
        since, count = (since, count + 1) if now - since < MINUTE else (now, 1)
        self._counts[address] = (since, count)
        self._counts.move_to_end(address)
        if len(self._counts) > _MAX_ADDRESSES:
            self._counts.popitem(last=False)
        if count > _MAX_FAILURES_PER_MINUTE:
            seconds = (since + MINUTE - now) // SECOND + 1
            return errors.TooMany(
                "Too many wrong keys from this address.", hint="Wait a minute.", retry_after=seconds
            )
        return errors.Unauthenticated(hint=_KEY_HINT)


def _build_fixed_callers(
    operator_token: str, local_token: str, environ: Mapping[str, str]
) -> list[tuple[str, Caller]]:
    """Digests of the tokens that are not in the store: the operator's, the user's and those of the environment."""
    everywhere = frozenset({access.ALL_PROJECTS})
    tokens = (
        (operator_token, access.OPERATOR),
        (local_token, access.LOCAL),
        (environ.get("MCP_TOKEN", ""), Caller("agent", everywhere, "MCP_TOKEN")),
        (environ.get("SYNC_TOKEN", ""), Caller("sync", everywhere, "SYNC_TOKEN", kind="program")),
    )
    return [(store.hash_secret(token), caller) for token, caller in tokens if token]


def _read_bearer_token(headers: Mapping[str, str]) -> str:
    if "authorization" not in headers:
        return ""
    scheme, _, secret = headers["authorization"].partition(" ")
    return secret.strip()[:_MAX_SECRET_CHARACTERS] if scheme.lower() == "bearer" else ""


def _apply_agent_header(caller: Caller, headers: Mapping[str, str]) -> Caller:
    """Without keys a caller may name its agent; the agent of a key cannot be overridden."""
    if "x-agent-id" not in headers or caller.agent is not None:
        return caller
    agent = _decode_header_value(headers["x-agent-id"])
    if not agent:
        return caller
    try:
        return replace(caller, agent=_AGENT_NAME.validate_python(agent))
    except pydantic.ValidationError:
        raise errors.Invalid(
            f'Invalid agent name in X-Agent-Id: "{agent[:80]}".', hint="Use letters, digits and . _ @ : + -"
        ) from None


def add_headers(caller: Caller, headers: Mapping[str, str]) -> Caller:
    """Add what the headers say (names in lower case)."""
    if key := headers.get(IDEMPOTENCY_HEADER.lower()):
        caller = replace(caller, idempotency_key=key.strip())
    if _ORIGIN_HEADERS.isdisjoint(headers):
        return caller
    origin = {name: _decode_header_value(headers[name]) for name in _ORIGIN_HEADERS if name in headers}
    return _add_origin(
        caller,
        windows=origin.get(WINDOW_HEADER.lower(), "").split(","),
        session=origin.get(SESSION_HEADER.lower()),
        seat=origin.get(SEAT_HEADER.lower()),
        branch=origin.get(BRANCH_HEADER.lower()),
        project=origin.get(PROJECT_HEADER.lower()),
    )


def _decode_header_value(value: str) -> str:
    """The text of a header that was read as Latin-1: percent-encoded, or raw UTF-8 as curl sends it."""
    if not value.isascii():
        with contextlib.suppress(UnicodeError):
            value = value.encode("latin-1").decode()
    return unquote(value) if "%" in value else value


def add_mcp_request(
    caller: Caller, meta: Mapping[str, Any], connection: Sequence[str], client: str
) -> Caller:
    """Add what an MCP request says in `_meta`, the connection that it came on, and its client's name."""
    if not connection and _READ_METAS.isdisjoint(meta):
        # Most requests: nothing that would name a window, a session or a seat.
        seat = caller.seat or tool_of_client(client)
        return caller if seat == caller.seat else replace(caller, seat=seat)
    if key := meta.get(IDEMPOTENCY_META):
        caller = replace(caller, idempotency_key=key)
    return _add_origin(
        caller,
        windows=[*_list_meta_windows(meta), *caller.windows, *connection],
        session=meta.get(SESSION_META),
        seat=meta.get(SEAT_META) or caller.seat or tool_of_client(client),
        branch=meta.get(BRANCH_META),
    )


def _list_meta_windows(meta: Mapping[str, Any]) -> Iterator[str]:
    named = meta.get(WINDOW_META, ())
    yield from _texts([named] if isinstance(named, str) else named)
    yield from (
        conversation_window("codex", text) for text in _texts(meta.get(name) for name in _CODEX_METAS)
    )
    yield from (claude_call_window(text) for text in _texts([meta.get(_CLAUDE_CALL_META)]))


def _add_origin(
    caller: Caller, *, windows: Iterable[str], session: Any, seat: Any, branch: Any, project: Any = None
) -> Caller:
    ordered = sorted(dict.fromkeys(_texts(windows)), key=lambda window: _SPECIFICITY[kind_of_window(window)])
    return replace(
        caller,
        windows=tuple(ordered[:_MAX_WINDOWS]),
        session=next(_texts([session]), caller.session),
        seat=next(_texts([seat]), caller.seat),
        branch=next(_texts([branch]), caller.branch),
        project=next(_texts([project]), caller.project),
    )


def _texts(values: Any) -> Iterator[str]:
    """The texts among values that a client sent; everything else is ignored, as is text that no id would be."""
    for value in values if isinstance(values, Iterable) else ():
        text = value.strip() if isinstance(value, str) else ""
        if text and len(text) <= _MAX_TEXT_CHARACTERS and text.isprintable():
            yield text
