"""The public keys of the issuer, fetched from the JWKS that its metadata names and kept for a bounded time.

Fetching runs in a thread, within a time limit and a size limit, every ten minutes. A key that is not known starts one
more fetch, so that a rotated key works at once; tokens with invented key ids cannot make the server fetch more often than
every `_MIN_FETCH_INTERVAL`. While the issuer is away, the keys that are known stay valid for `_MAX_KEY_AGE`.
"""

import asyncio
import contextlib
import http.client
import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from commonplace import background, errors
from commonplace.clock import DAY, SECOND, Clock
from commonplace.config import is_loopback_host

_log = logging.getLogger(__name__)

# Algorithms with a public key only: with HS256 the public key itself would be accepted as the secret.
RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVE_ALGORITHMS: Final = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
ALGORITHMS: Final = frozenset((*RSA_ALGORITHMS, *_CURVE_ALGORITHMS.values()))

_REFRESH_INTERVAL_SECONDS: Final = 600
_MAX_KEY_AGE: Final = DAY
_MIN_FETCH_INTERVAL: Final = 30 * SECOND
_FETCH_SECONDS: Final = 5.0
_MAX_DOCUMENT_BYTES: Final = 512 * 1024
_MAX_KEYS: Final = 100
_MIN_RSA_BITS: Final = 2048


class IssuerUnreachable(errors.Unavailable):
    """The issuer's metadata or keys could not be read."""


@dataclass(frozen=True)
class IssuerKey:
    """One public key for one algorithm."""

    key_id: str
    algorithm: str
    key: jwt.PyJWK


class IssuerKeys:
    """Every token asks it for its key. `open` it so that keys are fetched before they are needed."""

    def __init__(self, issuer: str, clock: Clock) -> None:
        self._issuer, self._clock = issuer, clock
        self._keys: tuple[IssuerKey, ...] = ()
        self._loaded_at: int | None = None
        self._tried_at: int | None = None
        self._fetching = asyncio.Lock()
        self._refreshing: background.BackgroundWork | None = None

    def open(self) -> None:
        self._refreshing = background.every(
            _REFRESH_INTERVAL_SECONDS, self._fetch, name="issuer keys", first_after=0
        )

    async def close(self) -> None:
        await background.stop(self._refreshing)

    async def find_key(self, key_id: str | None, algorithm: str) -> jwt.PyJWK | None:
        """The key with this id, or the only one there is for a token that names none."""
        if not self._has_keys():
            await self._fetch_once()
            self._require_keys()
        key = self._pick_key(key_id, algorithm)
        if key is None:
            await self._fetch_once()
            key = self._pick_key(key_id, algorithm)
        return key

    def _pick_key(self, key_id: str | None, algorithm: str) -> jwt.PyJWK | None:
        usable = [key for key in self._keys if key.algorithm == algorithm]
        if key_id is None:
            return usable[0].key if len(usable) == 1 else None
        return next((key.key for key in usable if key.key_id == key_id), None)

    def _has_keys(self) -> bool:
        return self._loaded_at is not None and self._clock() - self._loaded_at <= _MAX_KEY_AGE

    def _require_keys(self) -> None:
        if not self._has_keys():
            raise errors.Unavailable(
                "The keys of the token issuer cannot be fetched; tokens cannot be checked.",
                hint="Try again in a minute; the server log says why. Keys (smk_...) work meanwhile.",
                retry_after=_MIN_FETCH_INTERVAL // SECOND,
            )

    async def _fetch_once(self) -> None:
        """Fetch, unless somebody did a moment ago; whoever comes meanwhile waits for the same fetch."""
        async with self._fetching:
            if self._tried_at is None or self._clock() - self._tried_at >= _MIN_FETCH_INTERVAL:
                with contextlib.suppress(IssuerUnreachable):
                    await self._fetch()

    async def _fetch(self) -> None:
        self._tried_at = self._clock()
        try:
            keys = await asyncio.to_thread(fetch_issuer_keys, self._issuer)
        except IssuerUnreachable as problem:
            _log.warning("issuer keys not fetched", extra={"issuer": self._issuer, "reason": problem.message})
            raise
        self._keys, self._loaded_at = keys, self._clock()


def fetch_issuer_keys(issuer: str) -> tuple[IssuerKey, ...]:
    """Read the issuer's metadata and its keys; blocks, so it runs in a thread."""
    ends = time.monotonic() + _FETCH_SECONDS
    jwks = _fetch_json(_find_jwks_uri(issuer, ends), ends)
    listed = jwks.get("keys")
    if not isinstance(listed, list) or len(listed) > _MAX_KEYS:
        raise IssuerUnreachable("the JWKS has no list of keys, or too many")
    return tuple(key for jwk in listed if isinstance(jwk, dict) for key in _read_key(jwk))


def list_metadata_urls(issuer: str) -> tuple[str, ...]:
    """Where RFC 8414 and OpenID Connect place the metadata of an issuer."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    origin = f"{parts.scheme}://{parts.netloc}"
    return (
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}{path}/.well-known/openid-configuration",
    )


def _find_jwks_uri(issuer: str, ends: float) -> str:
    """Of the documents that an issuer may publish, the first that says where its keys are."""
    problem = IssuerUnreachable("no metadata")
    for url in list_metadata_urls(issuer):
        try:
            metadata = _fetch_json(url, ends)
        except IssuerUnreachable as unreachable:
            problem = unreachable
            continue
        if metadata.get("issuer") != issuer:
            raise IssuerUnreachable(f"the metadata at {url} is of the issuer {metadata.get('issuer')}"[:300])
        if isinstance(uri := metadata.get("jwks_uri"), str):
            return uri
        problem = IssuerUnreachable(f"the metadata at {url} has no jwks_uri")
    raise problem


def _fetch_json(url: str, ends: float) -> Mapping[str, Any]:
    parts = urlsplit(url)
    is_local = is_loopback_host(parts.hostname or "")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        raise IssuerUnreachable(f"{url} is not https")
    proxies = (urllib.request.ProxyHandler({}),) if is_local else ()
    opener = urllib.request.build_opener(_RedirectRefuser, *proxies)
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - checked above
    try:
        with opener.open(request, timeout=max(0.1, ends - time.monotonic())) as response:
            document = json.loads(b"".join(_read_parts(response, ends)))
    except urllib.error.HTTPError as refused:
        refused.close()
        raise IssuerUnreachable(f"{url}: status {refused.code}") from None
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as problem:
        raise IssuerUnreachable(f"{url}: {type(problem).__name__} {problem}"[:300]) from problem
    if not isinstance(document, dict):
        raise IssuerUnreachable(f"{url} is not a JSON object")
    return document


def _read_parts(response: http.client.HTTPResponse, ends: float) -> Iterator[bytes]:
    """The body in parts; one that is too long or arrives too slowly ends with ValueError."""
    left = _MAX_DOCUMENT_BYTES
    while part := response.read1(64 * 1024):
        left -= len(part)
        if left < 0 or time.monotonic() > ends:
            raise ValueError("the document is too long, or arrives too slowly")
        yield part


def _read_key(jwk: Mapping[str, Any]) -> Iterator[IssuerKey]:
    """The key for each algorithm that it may be used with; keys of other kinds are left out."""
    if jwk.get("use", "sig") != "sig" or not isinstance(jwk.get("kid", ""), str):
        return
    if jwk.get("kty") == "RSA":
        possible: tuple[str, ...] = RSA_ALGORITHMS
    else:
        possible = tuple(filter(None, [_CURVE_ALGORITHMS.get(str(jwk.get("crv")))]))
    named = jwk.get("alg")
    for algorithm in possible:
        if named not in (None, algorithm):
            continue
        try:
            key = jwt.PyJWK(dict(jwk), algorithm)
        except jwt.PyJWTError:
            continue
        if isinstance(key.key, RSAPublicKey) and key.key.key_size < _MIN_RSA_BITS:
            _log.warning("issuer key is too short", extra={"key_id": str(jwk.get("kid"))[:100]})
            return
        yield IssuerKey(jwk.get("kid", ""), algorithm, key)


class _RedirectRefuser(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Keys are trusted only from the addresses that the operator and the issuer named."""
