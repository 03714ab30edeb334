"""Call an operation: on the server that COMMONPLACE_URL names, on the server that runs on the data folder, or, if none
runs, directly on the store.

Commands in `client/` that also work without a server are handed `call_operation` by the parser.
"""

import argparse
import asyncio
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from commonplace import config, errors
from commonplace.access import OPERATOR
from commonplace.beacon import read_beacon
from commonplace.client import remote
from commonplace.client.remote import RemoteServer

_CALL_SECONDS = 70
_HEALTH_SECONDS = 2


def call_operation(
    name: str, arguments: Mapping[str, Any], flags: argparse.Namespace, server: RemoteServer | None = None
) -> dict[str, Any]:
    """On `server` if given, else as the environment and the flags --data and --store say."""
    if server:
        return _call_remote(server, name, arguments)
    settings = config.read_settings(
        {"data": getattr(flags, "data", None), "store": getattr(flags, "store", None)}
    )
    if url := os.environ.get("COMMONPLACE_URL"):
        return _call_remote(RemoteServer(url, os.environ.get("COMMONPLACE_KEY", "")), name, arguments)
    beacon = read_beacon(settings.data)
    if beacon and remote.is_answering(beacon["url"], _HEALTH_SECONDS):
        return _call_remote(RemoteServer(beacon["url"], beacon["token"]), name, arguments)
    return asyncio.run(_call_store(settings, name, arguments))


async def _call_store(settings: config.Settings, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from commonplace.server import open_calls  # noqa: PLC0415 - a remote call needs no server code

    async with open_calls(settings) as calls:
        answer = await calls.run(name, arguments, OPERATOR)
    reply: dict[str, Any] = msgspec.json.decode(answer.to_text())
    return reply


def _call_remote(server: RemoteServer, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    server = server._replace(url=remote.normalize_url(server.url))
    try:
        return remote.call_operation(server, name, dict(arguments), _CALL_SECONDS)
    except remote.ServerUnreachable as error:
        raise errors.Unavailable(str(error), hint="Start it: commonplace serve") from None
    except remote.ServerRefusal as refusal:
        raise _to_refusal(refusal) from None


def _to_refusal(refusal: remote.ServerRefusal) -> errors.Refusal:
    """The class of `errors` that the server raised, with its message, hint and details."""
    details = dict(refusal.body)
    classes = {kind.code: kind for kind in _list_subclasses(errors.Refusal)}
    kind = classes.get(details.pop("error", ""), errors.Refusal if refusal.body else errors.Unavailable)
    return kind(details.pop("message", None) or str(refusal), hint=details.pop("hint", None), **details)


def _list_subclasses(kind: type[errors.Refusal]) -> list[type[errors.Refusal]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _list_subclasses(child))]
