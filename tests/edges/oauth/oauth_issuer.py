"""A real issuer for tests: the official SDK's authorization server, which signs its access tokens as JWTs."""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

SCOPES = ["commonplace:read", "commonplace:write", "commonplace:admin"]
LIFETIME_SECONDS = 3600


@dataclass
class SigningKey:
    key_id: str
    private: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    def to_jwk(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.private.public_key()))
        return public | {"kid": self.key_id, "use": "sig"}

    def public_pem(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@dataclass
class Issuer:
    """Authorizes everybody as `person`; what it is asked for is counted."""

    url: str
    clock: Callable[[], int]
    signing: SigningKey
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "user-1", "email": "ann@example.org"})
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    refreshing: dict[str, RefreshToken] = field(default_factory=dict)
    jwks_fetches: int = 0
    is_down: bool = False
    published: list[dict[str, Any]] | None = None

    @property
    def now(self) -> int:
        return self.clock() // 1_000_000

    def mint(self, audience: Any, scope: str = "commonplace:write", **claims: Any) -> str:
        times = {"iat": self.now, "exp": self.now + LIFETIME_SECONDS}
        payload = {"iss": self.url, "aud": audience, "scope": scope} | times | self.person | claims
        kept = {name: value for name, value in payload.items() if value is not None}
        return jwt.encode(kept, self.signing.private, "RS256", headers={"kid": self.signing.key_id})

    def rotate_key(self, key_id: str) -> None:
        self.signing = SigningKey(key_id)

    def build_app(self) -> Starlette:
        options = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES[:2])
        routes = create_auth_routes(self, AnyHttpUrl(self.url), client_registration_options=options)
        metadata = next(route for route in routes if route.path == "/.well-known/oauth-authorization-server")
        own = [
            Route("/.well-known/openid-configuration", self._send_configuration),
            Route("/jwks", self._send_jwks),
        ]
        return Starlette(routes=[*own, metadata, *[route for route in routes if route is not metadata]])

    async def _send_configuration(self, _: Request) -> Response:
        if self.is_down:
            return Response(status_code=503)
        return JSONResponse({"issuer": self.url, "jwks_uri": f"{self.url.rstrip('/')}/jwks"})

    async def _send_jwks(self, _: Request) -> Response:
        self.jwks_fetches += 1
        if self.is_down:
            return Response(status_code=503)
        keys = self.published if self.published is not None else [self.signing.to_jwk()]
        return JSONResponse({"keys": keys})

    # What the SDK's routes ask of a provider

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=2**40,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        del client
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del client, self.codes[authorization_code.code]
        return self._grant(authorization_code.resource, authorization_code.scopes)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        del client
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del client
        return self._grant(refresh_token.resource, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        del token

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        del token

    def _grant(self, resource: str | None, scopes: list[str]) -> OAuthToken:
        refresh = RefreshToken(
            token=secrets.token_urlsafe(24), client_id="", scopes=scopes, resource=resource
        )
        self.refreshing[refresh.token] = refresh
        return OAuthToken(
            access_token=self.mint(resource, " ".join(scopes)),
            expires_in=LIFETIME_SECONDS,
            scope=" ".join(scopes),
            refresh_token=refresh.token,
        )
