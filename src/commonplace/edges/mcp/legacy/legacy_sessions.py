"""Legacy sessions. A session is what its id says, signed: any replica can serve it, before and after a restart.

A process remembers only what cannot be in the id: subscriptions (with a store, all replicas know them), the open stream,
the log level, and which sessions have ended (all replicas hear of that too). These are sessions of the protocol, not the agents' work sessions (rooms/sessions).
"""

import contextlib
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec

from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import LOG_LEVELS
from commonplace.edges.mcp.messages import LEGACY_VERSIONS
from commonplace.edges.mcp.publisher import (
    LIST_TOPICS,
    SUBSCRIPTIONS_CHANGED,
    Listener,
    Publisher,
    resource_topic,
)
from commonplace.edges.mcp.signed_tokens import TokenSigner

_PURPOSE: Final = "session"
_MAX_CLIENT_NAME_CHARACTERS: Final = 64
_MAX_ENDED_SESSIONS: Final = 100_000
_ASKABLE: Final = ("elicitation", "roots", "sampling")


class Introduction:
    """What a client says of itself in `initialize`."""

    __slots__ = ("capabilities", "client", "version")

    def __init__(self, params: Mapping[str, Any]) -> None:
        version, client = params.get("protocolVersion"), params.get("clientInfo")
        capabilities = params.get("capabilities")
        self.version = version if version in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
        self.client = str(client.get("name", "")) if isinstance(client, dict) else ""
        self.capabilities: dict[str, Any] = capabilities if isinstance(capabilities, dict) else {}


class LegacySession(msgspec.Struct, frozen=True, array_like=True):
    """The payload of `Mcp-Session-Id`. A request without that header has one with an empty nonce."""

    nonce: bytes
    created: int
    version: str
    client: str = ""
    capabilities: tuple[str, ...] = ()


class SubscriptionStore(Protocol):
    """Where all replicas find the subscriptions of a session."""

    async def add(self, session: str, uri: str) -> None: ...

    async def remove(self, session: str, uri: str | None = None) -> None:
        """Remove one subscription of a session, or all."""

    async def end(self, session: str) -> None:
        """End a session for all replicas."""

    def watch_ended(self, on_ended: Callable[[str], None]) -> None:
        """Call this with every session that has ended, on whichever replica; it may be told more than once."""

    async def load(self, session: str) -> frozenset[str]: ...

    async def follow(self, session: str, changed: Callable[[frozenset[str]], None]) -> Callable[[], None]:
        """Call `changed` with all subscriptions of the session, at once and when they change; return how to stop it."""


class LiveSession:
    """What a process keeps of a session while it runs: its subscriptions, its stream, its log level.

    With a store, its subscriptions are there too: `wanted` are those that another replica may have added.
    """

    DEFAULT_LOG_LEVEL: Final = LOG_LEVELS[0]
    __slots__ = ("_key", "_store", "listener", "log_level", "uris", "wanted")

    def __init__(self, key: str = "", store: SubscriptionStore | None = None) -> None:
        self._key, self._store = key, store
        self.uris: set[str] = set()
        self.wanted: frozenset[str] = frozenset()
        self.listener: Listener | None = None
        self.log_level = self.DEFAULT_LOG_LEVEL

    @contextlib.asynccontextmanager
    async def follow_store(self) -> AsyncIterator[None]:
        """Wake the stream when its subscriptions change on another replica."""
        if self._store is None:
            yield
            return
        stop = await self._store.follow(self._key, self._want_uris)
        try:
            yield
        finally:
            stop()

    def _want_uris(self, uris: frozenset[str]) -> None:
        self.wanted = uris
        if self.listener is not None:
            self.listener.add_change(SUBSCRIPTIONS_CHANGED)

    def notify_subscriber(self, uri: str) -> None:
        """Let the stream say that this resource may have changed."""
        if self.listener is not None:
            self.listener.add_change(resource_topic(uri))

    async def count_subscriptions(self) -> int:
        return len(self.uris | await self._store.load(self._key)) if self._store else len(self.uris)

    async def save_subscription(self, uri: str) -> None:
        if self._store is not None:
            await self._store.add(self._key, uri)

    async def forget_subscription(self, uri: str) -> None:
        if self._store is not None:
            await self._store.remove(self._key, uri)

    def open_stream(self, publisher: Publisher, caller: Any) -> Listener:
        """Open the stream of this session and end an older one: the client has left that."""
        self.close_stream(publisher)
        if self._store is not None:
            self.uris.clear()  # all are adopted anew: the host may have stopped to follow them without a stream
        self.listener = publisher.open_listener(caller, (*LIST_TOPICS, *map(resource_topic, self.uris)))
        return self.listener

    def close_stream(self, publisher: Publisher) -> None:
        if self.listener is not None:
            publisher.remove_listener(self.listener)
            self.listener = None

    def subscribe(self, publisher: Publisher, uri: str) -> None:
        self.uris.add(uri)
        if self.listener is not None:
            publisher.add_topic(self.listener, resource_topic(uri))

    def unsubscribe(self, publisher: Publisher, uri: str) -> None:
        self.uris.discard(uri)
        if self.listener is not None:
            publisher.remove_topic(self.listener, resource_topic(uri))


_encode_session = msgspec.msgpack.Encoder().encode
_decode_session = msgspec.msgpack.Decoder(LegacySession).decode


class LegacySessions:
    def __init__(
        self,
        signer: TokenSigner,
        publisher: Publisher,
        limits: ClientLimits,
        clock: Callable[[], float],
        store: SubscriptionStore | None = None,
    ) -> None:
        self._signer, self._publisher, self._limits, self._clock = signer, publisher, limits, clock
        self._store = store
        self._read_token = lru_cache(maxsize=limits.sessions_in_memory)(self._verify_token)
        self._live: OrderedDict[bytes, LiveSession] = OrderedDict()
        self._ended: OrderedDict[bytes, None] = OrderedDict()
        if store is not None:
            store.watch_ended(lambda session: self._forget_session(bytes.fromhex(session)))

    def create_session(self, introduction: Introduction) -> LegacySession:
        return LegacySession(
            secrets.token_bytes(16),
            int(self._clock()),
            introduction.version,
            introduction.client[:_MAX_CLIENT_NAME_CHARACTERS],
            tuple(name for name in _ASKABLE if name in introduction.capabilities),
        )

    def sign_session(self, session: LegacySession, principal: str) -> str:
        """The value of `Mcp-Session-Id`, bound to the caller."""
        return self._signer.sign(_PURPOSE, _encode_session(session), principal)

    def find_session(self, token: str, principal: str) -> LegacySession | None:
        """The session of a token, unless it is forged, of another caller, ended or too old."""
        session = self._read_token(token, principal)
        if session is None or session.nonce in self._ended:
            return None
        return session if session.created >= self._clock() - self._limits.session_seconds else None

    def remember_live(self, session: LegacySession) -> LiveSession:
        live = self._live.setdefault(session.nonce, LiveSession(session.nonce.hex(), self._store))
        self._live.move_to_end(session.nonce)
        if len(self._live) > self._limits.sessions_in_memory:
            _nonce, oldest = self._live.popitem(last=False)
            oldest.close_stream(self._publisher)
        return live

    def log_level_of(self, session: LegacySession) -> str | None:
        if not session.nonce:
            return None
        live = self._live.get(session.nonce)
        return live.log_level if live is not None else LiveSession.DEFAULT_LOG_LEVEL

    async def end_session(self, session: LegacySession) -> None:
        self._forget_session(session.nonce)
        if self._store is not None and session.nonce:
            await self._store.end(session.nonce.hex())

    def _forget_session(self, nonce: bytes) -> None:
        """From now on its id is unknown here, and its stream is closed."""
        self._ended[nonce] = None
        if len(self._ended) > _MAX_ENDED_SESSIONS:
            self._ended.popitem(last=False)
        live = self._live.pop(nonce, None)
        if live is not None:
            live.close_stream(self._publisher)

    def _verify_token(self, token: str, principal: str) -> LegacySession | None:
        payload = self._signer.read(_PURPOSE, token, principal)
        return None if payload is None else _decode_session(payload)
