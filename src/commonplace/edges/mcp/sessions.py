"""Legacy sessions: read from their tokens, with the little that a process remembers of the living ones."""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final

from commonplace.edges.mcp import session_token
from commonplace.edges.mcp.legacy import Introduction, LiveSession
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.mcp.seal import Seal
from commonplace.edges.mcp.session_token import Session

_ENDED_REMEMBERED: Final = 100_000


class Sessions:
    def __init__(self, seal: Seal, publisher: Publisher, limits: Limits, clock: Callable[[], float]) -> None:
        self._seal = seal
        self._read = lru_cache(maxsize=limits.sessions_in_memory)(partial(session_token.read, seal))
        self._publisher = publisher
        self._limits = limits
        self._clock = clock
        self._live: OrderedDict[bytes, LiveSession] = OrderedDict()
        self._ended: OrderedDict[bytes, None] = OrderedDict()

    def start(self, introduction: Introduction, principal: str) -> str:
        session = session_token.start(
            introduction.version, introduction.client, introduction.capabilities, self._clock()
        )
        return session_token.mint(self._seal, session, principal)

    def find(self, token: str, principal: str) -> Session | None:
        session = self._read(token, principal)
        if session is None or session.nonce in self._ended:
            return None
        return session if session.created >= self._clock() - self._limits.session_seconds else None

    def live(self, session: Session) -> LiveSession:
        live = self._live.setdefault(session.nonce, LiveSession())
        self._live.move_to_end(session.nonce)
        if len(self._live) > self._limits.sessions_in_memory:
            _nonce, oldest = self._live.popitem(last=False)
            oldest.leave(self._publisher)
        return live

    def log_level(self, session: Session) -> str:
        live = self._live.get(session.nonce)
        return live.log_level if live is not None else LiveSession.DEFAULT_LEVEL

    def end(self, session: Session) -> None:
        self._ended[session.nonce] = None
        if len(self._ended) > _ENDED_REMEMBERED:
            self._ended.popitem(last=False)
        live = self._live.pop(session.nonce, None)
        if live is not None:
            live.leave(self._publisher)
