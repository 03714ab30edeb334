"""The official SDK's client does the whole dance: discovery, registration, PKCE, token, call."""

import json
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from oauth_issuer import Issuer
from pydantic import AnyUrl
from resource_server import ResourceServer


class KeptTokens:
    """What a client program keeps between its runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Follows the link to the issuer, as a browser does, and brings the code back."""

    def __init__(self) -> None:
        self.answer: dict[str, list[str]] = {}
        self.asked: dict[str, list[str]] = {}

    async def open_link(self, url: str) -> None:
        self.asked = parse_qs(urlsplit(url).query)
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(url)
        assert answer.status_code == 302, answer.text
        self.answer = parse_qs(urlsplit(answer.headers["location"]).query)

    async def bring_code(self) -> AuthorizationCodeResult:
        issuer = self.answer.get("iss", [None])[0]
        return AuthorizationCodeResult(code=self.answer["code"][0], state=self.answer["state"][0], iss=issuer)


def provider(server: ResourceServer, kept: KeptTokens, person: Person, path: str = "") -> OAuthClientProvider:
    metadata = OAuthClientMetadata(
        client_name="some agent", redirect_uris=[AnyUrl("http://127.0.0.1:3030/callback")]
    )
    return OAuthClientProvider(
        f"{server.resource}{path}", metadata, kept, person.open_link, person.bring_code
    )


async def test_the_official_client_gets_a_token_and_calls(server: ResourceServer, issuer: Issuer):
    kept, person = KeptTokens(), Person()
    async with (
        httpx2.AsyncClient(auth=provider(server, kept, person)) as http,
        Client(streamable_http_client(server.resource, http_client=http)) as client,
    ):
        started = await client.call_tool("memory_start_session", {"project": "shop"})
        stored = await client.call_tool(
            "memory_record_learning",
            {"title": "Pool", "details": "Idle connections are closed by the pool."},
        )
    assert len(issuer.clients) == 1
    assert person.asked["resource"] == [server.resource]
    assert person.asked["code_challenge_method"] == ["S256"]
    assert person.asked["scope"] == ["commonplace:read commonplace:write"]
    assert kept.tokens is not None
    assert json.loads(started.content[0].text)["agent"] == "ann@example.org"
    assert not stored.is_error


async def test_the_official_client_reaches_one_toolset_with_the_token_of_the_whole_server(
    server: ResourceServer, issuer: Issuer
):
    kept, person = KeptTokens(), Person()
    address = f"{server.resource}/x/core"
    async with (
        httpx2.AsyncClient(auth=provider(server, kept, person, "/x/core")) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        listed = await client.list_tools()
    assert len(listed.tools) == 12
    assert len(issuer.clients) == 1
