"""Legacy sessions. A session is what its id says, signed: any replica can serve it, before and after a restart.

A process remembers only what cannot be in the id: subscriptions, the open stream, the log level, and which
sessions have ended. These are sessions of the protocol, not the agents' work sessions (rooms/sessions).
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import LOG_LEVELS
from commonplace.edges.mcp.messages import LEGACY_VERSIONS
from commonplace.edges.mcp.publisher import LIST_TOPICS, Listener, Publisher, resource_topic
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


class LiveSession:
    """What a process keeps of a session while it runs: its subscriptions, its stream, its log level."""

    DEFAULT_LOG_LEVEL: Final = LOG_LEVELS[0]
    __slots__ = ("listener", "log_level", "uris")

    def __init__(self) -> None:
        self.uris: set[str] = set()
        self.listener: Listener | None = None
        self.log_level = self.DEFAULT_LOG_LEVEL

    def open_stream(self, publisher: Publisher, caller: Any) -> Listener:
        """Open the stream of this session and end an older one: the client has left that."""
        self.close_stream(publisher)
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
        self, signer: TokenSigner, publisher: Publisher, limits: ClientLimits, clock: Callable[[], float]
    ) -> None:
        self._signer, self._publisher, self._limits, self._clock = signer, publisher, limits, clock
        self._read_token = lru_cache(maxsize=limits.sessions_in_memory)(self._verify_token)
        self._live: OrderedDict[bytes, LiveSession] = OrderedDict()
        self._ended: OrderedDict[bytes, None] = OrderedDict()

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
        live = self._live.setdefault(session.nonce, LiveSession())
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

    def end_session(self, session: LegacySession) -> None:
        self._ended[session.nonce] = None
        if len(self._ended) > _MAX_ENDED_SESSIONS:
            self._ended.popitem(last=False)
        live = self._live.pop(session.nonce, None)
        if live is not None:
            live.close_stream(self._publisher)

    def _verify_token(self, token: str, principal: str) -> LegacySession | None:
        payload = self._signer.read(_PURPOSE, token, principal)
        return None if payload is None else _decode_session(payload)
