"""Reach the operations: a server named by COMMONPLACE_URL, the running server of the folder, or the store itself."""

import argparse
import asyncio
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import msgspec

from commonplace import config, errors
from commonplace.access import OPERATOR
from commonplace.client.reach import Server, address

_SECONDS = 70


def call(
    name: str, arguments: Mapping[str, Any], where: argparse.Namespace, named: Server | None = None
) -> dict[str, Any]:
    """On the server that is named, else the one of the environment or of the folder that `where` says."""
    if named:
        return _post(named.url, name, arguments, named.key)
    settings = config.read({"data": getattr(where, "data", None), "store": getattr(where, "store", None)})
    url = os.environ.get("COMMONPLACE_URL")
    if url:
        return _post(url, name, arguments, os.environ.get("COMMONPLACE_KEY", ""))
    from commonplace.edges.beacon import read_beacon  # noqa: PLC0415 - a remote call needs no server code

    lit = read_beacon(settings.data)
    if lit and _answers(lit["url"]):
        return _post(lit["url"], name, arguments, lit["token"])
    return asyncio.run(_directly(settings, name, arguments))


async def _directly(settings: config.Settings, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from commonplace.server import opened  # noqa: PLC0415 - as above

    async with opened(settings) as calls:
        answer = await calls.run(name, arguments, OPERATOR)
    reply: dict[str, Any] = msgspec.json.decode(answer.text())
    return reply


def _post(url: str, name: str, arguments: Mapping[str, Any], key: str) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - the user names the server
        f"{address(url)}/api/{name}",
        data=msgspec.json.encode(arguments),
        headers={"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {}),
    )
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310 - as above
            reply: dict[str, Any] = msgspec.json.decode(response.read())
            return reply
    except urllib.error.HTTPError as refused:
        raise _refusal(refused) from None
    except OSError as away:
        raise errors.Unavailable(
            f"No server answers at {url} ({away}).", hint="Start it: commonplace serve"
        ) from None


def _refusal(refused: urllib.error.HTTPError) -> errors.Refusal:
    try:
        body = msgspec.json.decode(refused.read())
    except msgspec.DecodeError:
        return errors.Unavailable(f"The server answered {refused.code}.")
    kinds = {kind.code: kind for kind in _every(errors.Refusal)}
    kind = kinds.get(body.pop("error", ""), errors.Refusal)
    return kind(body.pop("message", None), hint=body.pop("hint", None), **body)


def _every(kind: type[errors.Refusal]) -> list[type[errors.Refusal]]:
    return [kind, *(deeper for each in kind.__subclasses__() for deeper in _every(each))]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2):  # noqa: S310 - our own beacon
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
