"""The official SDK's client does the whole dance: discovery, registration, PKCE, token, call."""

import json
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
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


@pytest.mark.sqlite_only
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


@pytest.mark.sqlite_only
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
    assert len(listed.tools) == 14
    assert len(issuer.clients) == 1


@pytest.mark.sqlite_only
async def test_a_connector_searches_and_fetches_with_its_two_tools(server: ResourceServer, issuer: Issuer):
    token = issuer.mint(server.resource)
    session = (await server.call("memory_start_session", token, project="shop")).json()["session_id"]
    lesson = {"title": "Idle pool", "details": "The pool closes idle connections after a minute."}
    stored = (await server.call("memory_record_learning", token, session_id=session, **lesson)).json()
    address, person = f"{server.resource}/x/chatgpt", Person()
    async with (
        httpx2.AsyncClient(auth=provider(server, KeptTokens(), person, "/x/chatgpt")) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        tools = (await client.list_tools()).tools
        found = await client.call_tool("search", {"query": "why are idle connections closed"})
        result = found.structured_content["results"][0]
        opened = await client.call_tool("fetch", {"id": result["id"]})
    assert [(tool.name, list(tool.input_schema["properties"])) for tool in tools] == [
        ("search", ["query"]),
        ("fetch", ["id"]),
    ]
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert json.loads(found.content[0].text) == found.structured_content
    assert result["url"] == f"{server.url}/knowledge?project=shop&doc={stored['id']}"
    document = opened.structured_content
    assert {name: document[name] for name in ("id", "title", "url")} == {
        "id": f"shop/{stored['id']}",
        "title": "Idle pool",
        "url": result["url"],
    }
    assert lesson["details"] in document["text"]
    assert document["metadata"]["author"] == "ann@example.org"
