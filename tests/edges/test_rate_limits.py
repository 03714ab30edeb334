"""One key or address that sends too much is told to wait; others are not affected, and nothing grows."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from commonplace import errors
from commonplace.access import LOCAL, Caller
from commonplace.edges.http import rate_limits
from commonplace.edges.http.rate_limits import RateLimits, TokenBuckets, name_network
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import HttpApplication


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def identify(headers: Mapping[str, str], _address: str, _query: bytes, **_options: bool) -> Caller:
    key = headers.get("authorization", "")
    return Caller("agent", frozenset({"*"}), key) if key else LOCAL


async def answer_ok(_request: Request, response: Response) -> None:
    await response.send_json(200, {})


async def send(
    app: HttpApplication, key: str = "", address: str = "10.0.0.1", path: str = "/x"
) -> tuple[int, dict[str, str], Any]:
    """The status, the headers and the body of one request through the whole HTTP floor."""
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"localhost"), *([(b"authorization", key.encode())] if key else [])], "client": (address, 1),
        "http_version": "1.1", "scheme": "http", "server": ("localhost", 80),
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def keep(message: Any) -> None:
        sent.append(dict(message))

    await app(scope, receive, keep)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(part.get("body", b"") for part in sent[1:])
    return sent[0]["status"], headers, json.loads(body or b"{}")


def build_app(clock: Clock, per_key: int = 0, per_address: int = 0) -> HttpApplication:
    return HttpApplication(
        identify,
        {"/x": {"GET": answer_ok}},
        {"/health": answer_ok},
        rate_limits=RateLimits(per_key, per_address, clock),
    )


async def test_key_that_sends_too_much_waits_and_others_do_not():
    clock = Clock()
    app = build_app(clock, per_key=2)
    assert {(await send(app, "greedy"))[0] for _ in range(20)} == {200}
    status, headers, body = await send(app, "greedy")
    assert (status, headers["retry-after"], body["error"]) == (429, "1", "too_many")
    assert (await send(app, "modest"))[0] == 200
    clock.seconds += 1
    assert [(await send(app, "greedy"))[0] for _ in range(3)] == [200, 200, 429]


async def test_address_is_limited_before_anything_is_looked_up():
    app = build_app(Clock(), per_address=1)
    assert {(await send(app, path=path))[0] for path in ["/x"] * 5 + ["/health"] * 5} == {200}
    for path in ("/x", "/health", "/nothing"):
        assert (await send(app, path=path))[0] == 429
    assert (await send(app, address="10.0.0.2"))[0] == 200


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", ""])
async def test_loopback_without_keys_is_not_limited(address: str):
    app = build_app(Clock(), per_key=1, per_address=1)
    assert {(await send(app, address=address))[0] for _ in range(50)} == {200}


async def test_key_behind_a_proxy_on_loopback_is_limited():
    app = build_app(Clock(), per_key=1, per_address=1)
    statuses = [(await send(app, "greedy", "127.0.0.1"))[0] for _ in range(11)]
    assert statuses == [200] * 10 + [429]


def test_addresses_of_one_network_count_as_one():
    assert name_network("2001:db8::1") == name_network("2001:db8::ffff") != name_network("2001:db8:0:1::1")
    assert name_network("10.0.0.1") == name_network("::ffff:10.0.0.1") != name_network("10.0.0.2")


def test_buckets_do_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rate_limits, "_MAX_BUCKETS", 10)
    buckets = TokenBuckets(1)
    for n in range(1000):
        buckets.take_token(str(n), 0.0)
    assert len(buckets._buckets) == 10


def test_limits_can_be_turned_off():
    limits = RateLimits(0, 0, Clock())
    for _ in range(100_000):
        limits.require_address("10.0.0.1")
        limits.require_key("k")


def test_waiting_brings_no_more_than_a_burst():
    clock = Clock()
    limits = RateLimits(1, 0, clock)
    clock.seconds = 1e6
    for _ in range(10):
        limits.require_key("k")
    with pytest.raises(errors.TooMany):
        limits.require_key("k")
