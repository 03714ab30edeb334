"""A legacy session is what its id says, signed: any replica can serve it, before and after a restart."""

import secrets
from typing import Any, Final

import msgspec

from commonplace.edges.mcp.seal import Seal

_PURPOSE: Final = "session"
_CLIENT_NAME_LENGTH: Final = 64
ASKABLE: Final = ("elicitation", "roots", "sampling")


class Session(msgspec.Struct, frozen=True, array_like=True):
    nonce: bytes
    created: int
    version: str
    client: str
    capabilities: tuple[str, ...]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Session).decode


def start(version: str, client: str, capabilities: dict[str, Any], now: float) -> Session:
    declared = tuple(name for name in ASKABLE if name in capabilities)
    return Session(secrets.token_bytes(16), int(now), version, client[:_CLIENT_NAME_LENGTH], declared)


def mint(seal: Seal, session: Session, principal: str) -> str:
    return seal.close(_PURPOSE, _encode(session), principal)


def read(seal: Seal, token: str, principal: str) -> Session | None:
    """None for a token that is forged, or foreign to this caller."""
    payload = seal.open(_PURPOSE, token, principal)
    return None if payload is None else _decode(payload)
