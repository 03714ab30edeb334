"""Call an operation on the server that `client/link/server_choice.py` chooses, or directly on the store if none runs.

Commands in `client/` that also work without a server are handed `call_operation` by the parser.
"""

import argparse
import asyncio
import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import msgspec

from commonplace import config, errors
from commonplace.access import OPERATOR
from commonplace.client.link import remote, server_choice
from commonplace.client.link.remote import RemoteServer
from commonplace.client.link.server_choice import ServerChoice
from commonplace.window import IDEMPOTENCY_HEADER

if TYPE_CHECKING:
    from commonplace.call import Calls

_KEY_HINT = "Set COMMONPLACE_KEY, or save a key: commonplace connect AGENT --url URL --key KEY"
_CALL_SECONDS = 70


def call_operation(name: str, arguments: Mapping[str, Any], flags: argparse.Namespace) -> dict[str, Any]:
    """Call on the server that the flags --url, --data and --store, the environment or the configuration name."""
    with OperationCalls(flags) as calls:
        return calls.call_operation(name, arguments)


class OperationCalls:
    """The calls of one command: where no server runs, the store is opened once, at the first call."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self._flags = flags
        self._runner, self._opened = asyncio.Runner(), contextlib.AsyncExitStack()
        self._calls: Calls | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_fault: object) -> None:
        with self._runner:
            if self._calls is not None:
                self._runner.run(self._opened.aclose())

    def call_operation(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self._calls is None:
            choice = next(list_server_choices(self._flags))
            if choice.server:
                return _call_remote(choice.server, choice.named_by, name, arguments)
        return self._runner.run(self._call_store(name, arguments))

    async def _call_store(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self._calls is None:
            from commonplace.server import open_calls  # a remote call needs no server code

            self._calls = await self._opened.enter_async_context(open_calls(_read_settings(self._flags)))
        answer = await self._calls.run(name, arguments, OPERATOR)
        reply: dict[str, Any] = msgspec.json.decode(answer.to_text())
        return reply


def list_server_choices(flags: argparse.Namespace) -> Iterator[ServerChoice]:
    """The server that `call_operation` uses, then those that it overrides."""
    is_data_named = bool(getattr(flags, "data", None) or getattr(flags, "store", None))
    url = getattr(flags, "url", None)
    return server_choice.list_server_choices(url, _read_settings(flags).data, is_data_named=is_data_named)


def _read_settings(flags: argparse.Namespace) -> config.Settings:
    return config.read_settings(
        {"data": getattr(flags, "data", None), "store": getattr(flags, "store", None)}
    )


def _call_remote(
    server: RemoteServer, named_by: str, name: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        return _call_until_answered(server, name, dict(arguments))
    except remote.ServerUnreachable as error:
        raise errors.Unavailable(
            f"{error} It is named by {named_by}.",
            hint="Start it, name another with --url URL, or use a data folder with --data DIR.",
        ) from None
    except remote.ServerRefusal as refusal:
        raise _to_refusal(refusal) from None


def _call_until_answered(server: RemoteServer, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call, and once more if the connection was cut: with its idempotency key the call is carried out once."""
    headers = [f"{IDEMPOTENCY_HEADER}: {os.urandom(16).hex()}"]
    deadline = time.monotonic() + _CALL_SECONDS
    try:
        return remote.call_operation(server, name, arguments, _CALL_SECONDS, headers=headers)
    except remote.ServerUnreachable:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise
    return remote.call_operation(server, name, arguments, seconds, headers=headers)


def _to_refusal(refusal: remote.ServerRefusal) -> errors.Refusal:
    """The class of `errors` that the server raised, with its message, hint and details."""
    details = dict(refusal.body)
    classes = {kind.code: kind for kind in _list_subclasses(errors.Refusal)}
    kind = classes.get(details.pop("error", ""), errors.Refusal if refusal.body else errors.Unavailable)
    hint = details.pop("hint", None)
    hint = _KEY_HINT if kind is errors.Unauthenticated else hint
    return kind(details.pop("message", None) or str(refusal), hint=hint, **details)


def _list_subclasses(kind: type[errors.Refusal]) -> list[type[errors.Refusal]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _list_subclasses(child))]
