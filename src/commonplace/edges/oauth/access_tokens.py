"""Verify an access token: a JWT of the configured issuer, for this server, within its time.

What the claims mean here (role, projects, agent) is decided in token_callers.py.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt

from commonplace.clock import SECOND, Clock
from commonplace.edges.oauth.issuer_keys import ALGORITHMS, IssuerKeys

MAX_TOKEN_CHARACTERS: Final = 16 * 1024
_LEEWAY: Final = 30 * SECOND
_MAX_SUBJECT_CHARACTERS: Final = 255
_MAX_UNIX_SECONDS: Final = 2**40
_REQUIRED_CLAIMS: Final = ("iss", "aud", "sub", "exp")


class InvalidToken(Exception):
    """Not a token of this issuer for this server; `is_forged` unless it once was one."""

    def __init__(self, reason: str, *, is_forged: bool = True) -> None:
        super().__init__(reason)
        self.is_forged = is_forged


@dataclass(frozen=True)
class VerifiedToken:
    subject: str
    expires_at: int
    claims: Mapping[str, Any]


def looks_like_token(secret: str) -> bool:
    """A JWT is three parts, the first of which is JSON in base64; a key of ours has no dots."""
    return secret.startswith("eyJ") and secret.count(".") == 2  # noqa: PLR2004 - header.payload.signature


class TokenVerifier:
    def __init__(self, issuer: str, audiences: Collection[str], keys: IssuerKeys, clock: Clock) -> None:
        self._issuer, self._audiences, self._keys, self._clock = issuer, list(audiences), keys, clock

    async def verify(self, token: str) -> VerifiedToken:
        """The claims of a valid token; InvalidToken if it is none, Unavailable if the issuer's keys are not there."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise InvalidToken("too long")
        header = _read_header(token)
        key = await self._keys.find_key(header.get("kid"), header["alg"])
        if key is None:
            raise InvalidToken("unknown key")
        claims = self._verify_signature(token, key, header["alg"])
        return VerifiedToken(_read_subject(claims), self._require_time(claims), claims)

    def _verify_signature(self, token: str, key: jwt.PyJWK, algorithm: str) -> dict[str, Any]:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._audiences,
                issuer=self._issuer,
                # Times are compared with the server's own clock, in `_require_time`.
                options={
                    "require": list(_REQUIRED_CLAIMS),
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except (jwt.PyJWTError, RecursionError, ValueError) as problem:
            raise InvalidToken(type(problem).__name__) from None
        return claims

    def _require_time(self, claims: Mapping[str, Any]) -> int:
        now = self._clock()
        expires_at = _read_time(claims, "exp", 0)
        if now >= expires_at + _LEEWAY:
            raise InvalidToken("expired", is_forged=False)
        if now < _read_time(claims, "nbf", now) - _LEEWAY:
            raise InvalidToken("not valid yet", is_forged=False)
        return expires_at + _LEEWAY


def _read_header(token: str) -> dict[str, Any]:
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, RecursionError, ValueError) as problem:
        raise InvalidToken(type(problem).__name__) from None
    if header.get("alg") not in ALGORITHMS or "crit" in header:
        raise InvalidToken("algorithm")
    return header


def _read_subject(claims: Mapping[str, Any]) -> str:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT_CHARACTERS:
        raise InvalidToken("subject")
    return subject


def _read_time(claims: Mapping[str, Any], name: str, default: int) -> int:
    value = claims.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN
        raise InvalidToken(name)
    return int(max(0, min(value, _MAX_UNIX_SECONDS)) * SECOND)
