"""Behind a proxy that the operator named, the client's address counts; from anybody else the header is only a text."""

import pytest

from commonplace import errors
from commonplace.edges.http.client_address import TrustedProxies
from commonplace.edges.http.rate_limits import RateLimits
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import HttpApplication

PROXY, CLIENT = "10.0.0.9", "203.0.113.7"


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        (PROXY, CLIENT, CLIENT),
        (PROXY, f"1.2.3.4, {CLIENT}", CLIENT),
        (PROXY, f"{CLIENT}, 10.9.9.9, 10.0.0.8", CLIENT),
        (PROXY, f"{CLIENT}:4711", CLIENT),
        (PROXY, "[2001:db8::1]:4711", "2001:db8::1"),
        (PROXY, "2001:db8::1", "2001:db8::1"),
        (PROXY, "::ffff:203.0.113.7", CLIENT),
        ("::ffff:10.0.0.9", CLIENT, CLIENT),
        ("::1", CLIENT, CLIENT),
        (PROXY, "", PROXY),
        (PROXY, "unknown", PROXY),
        (PROXY, "10.0.0.1, 10.0.0.2", "10.0.0.1"),
        (PROXY, ", ," * 100, PROXY),
        (PROXY, "1.2.3.4," * 1000, PROXY),
        ("203.0.113.99", "10.0.0.9", "203.0.113.99"),
        ("203.0.113.99", CLIENT, "203.0.113.99"),
        ("", CLIENT, ""),
    ],
)
def test_client_is_the_last_address_that_is_no_known_proxy(peer: str, forwarded: str, client: str):
    assert TrustedProxies(["10.0.0.0/8", "::1"]).find_client(peer, forwarded) == client
    assert TrustedProxies().find_client(peer, forwarded) == peer


def test_a_name_that_is_no_network_is_refused():
    with pytest.raises(errors.Invalid):
        TrustedProxies(["proxy.example.org"])


async def test_the_address_limit_counts_clients_behind_the_proxy_apart():
    async def answer(_request: Request, response: Response) -> None:
        await response.send_json(200, {})

    async def nobody(*_: object, **__: object) -> None:
        raise AssertionError

    app = HttpApplication(
        nobody,
        {},
        {"/health": answer},
        rate_limits=RateLimits(0, 1),
        trusted_proxies=TrustedProxies(["127.0.0.1"]),
    )

    async def send(forwarded: str, peer: str = "127.0.0.1") -> int:
        sent: list[dict] = []
        headers = [(b"host", b"localhost"), (b"x-forwarded-for", forwarded.encode())]
        scope = {"type": "http", "method": "GET", "path": "/health", "headers": headers, "client": (peer, 1)}

        async def receive() -> dict:
            return {"type": "http.request"}

        async def keep(message: dict) -> None:
            sent.append(dict(message))

        await app(scope, receive, keep)
        return sent[0]["status"]

    greedy = [await send(CLIENT) for _ in range(11)]
    assert (set(greedy[:10]), greedy[10]) == ({200}, 429)
    assert await send("203.0.113.8") == 200
    assert [await send(f"198.51.100.{n}", "203.0.113.50") for n in range(11)][10] == 429
